# Durable storage. SQLite and zlib are the system's libraries (tools/setup.sh).
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
walle_room(store USES base LIBS SQLite::SQLite3 ZLIB::ZLIB)
