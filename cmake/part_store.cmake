# Durable storage. zlib is the system's library (tools/setup.sh).
find_package(ZLIB REQUIRED)
walle_room(store USES tensor base LIBS ZLIB::ZLIB)
# What an open and a checkpoint go through, and no row: 45 KB less.
walle_cold(store entry_map journal_chain journal_copy journal_recovery kv mirrored_file sealed_env
  segment_manifest state_file state_map table_decl table_manifest tables_checkpoint tables_open)
