# Durable storage. SQLite and zlib are the system's libraries (tools/setup.sh).
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
# CMake 4.3 renamed the target and warns about the old name; older releases know only that.
set(sqlite SQLite::SQLite3)
if(TARGET SQLite3::SQLite3)
  set(sqlite SQLite3::SQLite3)
endif()
walle_room(store USES base LIBS ${sqlite} ZLIB::ZLIB)
