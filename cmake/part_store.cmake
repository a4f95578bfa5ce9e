# Durable storage. zlib is the system's library (tools/setup.sh).
find_package(ZLIB REQUIRED)
walle_room(store USES tensor base LIBS ZLIB::ZLIB)
