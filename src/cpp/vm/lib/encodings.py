"""str.encode and bytes.decode know utf-8, utf-16, utf-32, ascii and latin-1 without any help; others do not exist here."""
