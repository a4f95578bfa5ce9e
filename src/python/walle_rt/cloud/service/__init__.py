"""Service: what the server does, whoever asks. Releases, enrolment, versions, reports, the tunnel's end.

The rooms below hold what it works on; HTTP (``web``) and the process (``serve``) stand on it. Nothing is
imported here: ``walle task publish`` needs ``publishing`` alone, and not the database.
"""
