"""walle.engine: the models that travel with this task.

model = walle.engine.load('model.walle')
scores = model.run({'x': walle.Tensor('float32', (1, 4), data)})['scores']
"""

import _walle

_calls = _walle.host("walle.engine")
resources = _calls.resources
read = _calls.read


class Model:
    """A model made ready to run.

    `inputs` and `outputs` list {'name', 'dtype', 'shape'}; a free dimension is None.
    """

    __slots__ = ("_handle", "inputs", "name", "outputs")

    def __init__(self, name, threads=1):
        self._handle = None
        self._handle = _calls.load(name, threads)
        self.name = name
        self.inputs = _calls.inputs(self._handle)
        self.outputs = _calls.outputs(self._handle)

    def run(self, inputs):
        """{output name: Tensor} for {input name: Tensor}; the tensors are used where they lie."""
        return _calls.run(self._handle, inputs)

    def close(self):
        """Give the model up; run() fails from now on."""
        if self._handle is not None:
            _calls.close(self._handle)

    __del__ = close

    def __repr__(self):
        return "walle.engine.Model(%r)" % (self.name,)


def load(name, threads=1):
    """The model in resource `name` of this task's bundle; threads=0: as many as the device has."""
    return Model(name, threads)
