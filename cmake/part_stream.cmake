# The on-device stream processor, one room per stage (docs/concepts/stream.md): what happened, what is waited
# for, what waits, who gets it, what is computed and by which chain, what may leave.
walle_room(stream/event USES store tensor base SCHEMAS event)
walle_room(stream/trigger SMALL USES stream/event)
walle_room(stream/match USES stream/trigger)
# Every recorded event goes through it: record() of one that fires nothing takes 121 ns so, and 140 at -O2.
target_compile_options(walle_stream_match PRIVATE $<$<CONFIG:Release>:-O3>)
walle_room(stream/operators USES stream/trigger)
walle_room(stream/graph SMALL USES stream/operators SCHEMAS graph)
walle_room(stream/rolling SMALL USES stream/trigger)
# But for what every event that counts goes through, and every lookup.
foreach(hot IN ITEMS key_history rolling_fold rolling_memory)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cpp/stream/rolling/${hot}.cc PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
endforeach()
walle_room(stream/processor USES stream/match stream/rolling)
# All of it but what an event goes through.
walle_cold(stream/processor processor_checkpoint processor_install processor_open processor_past
  processor_state processor_rolling)
walle_room(stream/egress SMALL USES stream/operators)
