"""What there is instead of modules that tasks often ask for; read when an import has failed."""

_ARRAYS = 'walle.Tensor computes (+, comparisons, slices, reshape, sum, mean, argmax ...)'
_MODELS = 'walle.engine runs the models that travel with the task'
_OUTSIDE = 'tasks reach nothing but host calls (walle.kv, walle.engine ...)'
_FILES = 'there are no files; walle.kv keeps state, walle.engine.read gives resources, io.BytesIO is there'
_ONE_CALL = 'a task is one call on one thread'
_BYTECODE = 'a device runs bytecode that was checked before, and can make no other'

_HINTS = {
    _ARRAYS: 'numpy scipy pandas cupy jax',
    _MODELS: 'torch tensorflow onnxruntime onnx tflite_runtime sklearn MNN',
    _OUTSIDE: 'socket ssl http requests httpx aiohttp ftplib smtplib subprocess multiprocessing signal '
              'select ctypes',
    _FILES: 'pathlib tempfile shutil glob sqlite3 shelve zipfile tarfile os posixpath fileinput open',
    _ONE_CALL: 'asyncio concurrent',
    _BYTECODE: 'ast inspect dis importlib marshal pickle code runpy',
    'int, float and fractions are there, and round() takes digits': 'decimal',
    "casefold(), isalpha() and the other methods of str are there": 'unicodedata',
    'json and csv are there': 'yaml toml tomllib xml configparser email',
    'a task has no command line: arguments of its functions and walle.kv configure it':
        'argparse optparse getopt',
    'bytes leave a task as they are; base64 and binascii.crc32 are there': 'zlib gzip bz2 lzma',
    'str.replace and re are there': 'html',
    'walle.time has the clocks': 'zoneinfo',
}


def of(name):
    top = name.partition('.')[0]
    for hint, names in _HINTS.items():
        if top in names.split():
            return hint
    return ''
