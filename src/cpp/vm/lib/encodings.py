"""Text encodings by name, for the functions of `codecs`: str.encode and bytes.decode need no help."""

import _codecs

_NAMES = {"utf_8", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be", "ascii", "latin_1"}
_ALIASES = {
    "utf8": "utf_8",
    "utf16": "utf_16",
    "utf_16le": "utf_16_le",
    "utf_16be": "utf_16_be",
    "utf32": "utf_32",
    "utf_32le": "utf_32_le",
    "utf_32be": "utf_32_be",
    "us_ascii": "ascii",
    "latin1": "latin_1",
    "iso8859_1": "latin_1",
    "iso_8859_1": "latin_1",
    "l1": "latin_1",
}


def _search(name):
    name = _ALIASES.get(name, name)
    if name not in _NAMES:
        return None
    import codecs

    encode, part = getattr(_codecs, name + "_encode"), getattr(_codecs, name + "_decode")
    bytewise = name in ("ascii", "latin_1")

    def decode(data, errors="strict"):
        return part(data, errors) if bytewise else part(data, errors, True)

    class Encoder(codecs.IncrementalEncoder):
        def encode(self, text, final=False):
            return encode(text, self.errors)[0]

    class Decoder(codecs.BufferedIncrementalDecoder):
        def _buffer_decode(self, data, errors, final):
            return part(data, errors) if bytewise else part(data, errors, final)

    if name in ("utf_16", "utf_32"):  # a mark at the start of each piece would be wrong
        Encoder = Decoder = None
    return codecs.CodecInfo(encode, decode, None, None, Encoder, Decoder, name.replace("_", "-"))


_codecs.register(_search)
