# The compute container: host calls, what a task is, and the device that runs it (docs/concepts/house.md,
# floor 9).
walle_room(container/host SMALL USES vm runtime array store stream/match stream/rolling
  stream/graph stream/egress)
# But for what every host call goes through, and the arithmetic of tensors.
foreach(hot IN ITEMS host_calls arrays time log)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cpp/container/host/${hot}.cc PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
endforeach()
walle_room(container/task SMALL USES container/host stream/processor SCHEMAS task)
walle_room(container/device SMALL USES container/task link)
walle_room(container/link SMALL USES container/device link)
