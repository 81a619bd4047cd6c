// Included before everything else when SQLite's native part is compiled for Node 24.19 and newer. From 24.19 on, Node's
// header for native objects registers a clean-up hook for each object and removes it during garbage collection, when it
// has no context to remove it from, and the process aborts (nodejs/node#65446). This gives the earlier form of it.
#include <node.h>
#define AddEnvironmentCleanupHook(...) static_cast<void>(0)
#define RemoveEnvironmentCleanupHook(...) static_cast<void>(0)
#include <node_object_wrap.h>
#undef AddEnvironmentCleanupHook
#undef RemoveEnvironmentCleanupHook
