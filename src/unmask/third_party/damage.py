"""What a file that is cut off, altered or of another kind makes its readers raise."""

import pickle
import struct
import tarfile
import zipfile
import zlib

DAMAGE = (
    *(pickle.UnpicklingError, struct.error, tarfile.TarError, zipfile.BadZipFile, zlib.error),
    *(AttributeError, EOFError, LookupError, OSError, OverflowError, RuntimeError, TypeError, ValueError),
)
