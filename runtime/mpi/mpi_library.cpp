#include "runtime/mpi/mpi_library.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include "sinter/error.h"

namespace sinter {

namespace {

/// Never destroyed: threads may use it while the process ends.
struct MpiLibrary {
  std::mutex start_mutex;
  bool is_started = false;
  std::atomic<pid_t> process = 0;  // that started it
  std::atomic<bool> may_finalize = true;

  std::mutex users_mutex;
  std::map<const void*, std::function<void(std::string_view)>> users;
};

MpiLibrary& mpi_library() {
  static auto* const library = new MpiLibrary;
  return *library;
}

void end_mpi_users(std::string_view why) {
  MpiLibrary& library = mpi_library();
  const std::lock_guard lock(library.users_mutex);
  for (const auto& [user, end] : library.users) end(why);
  library.users.clear();
}

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else.
int end_users_at_finalize(MPI_Comm, int, void*, void*) {
  end_mpi_users("MPI_Finalize was called");
  return MPI_SUCCESS;
}

void finalize_at_exit() {
  if (is_forked_from_mpi_process() || is_mpi_finalized()) return;
  end_mpi_users("the process ended");
  if (mpi_library().may_finalize) MPI_Finalize();
}

std::string_view name_of_thread_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    default: return "MPI_THREAD_MULTIPLE";
  }
}

/// Throws UserError if the program initialised MPI at too low a level.
void check_thread_level() {
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  if (level == MPI_THREAD_MULTIPLE) return;
  throw UserError(
      fmt::format("Communicator::mpi: MPI was initialised with {}, but a thread of sinter "
                  "calls MPI, too; initialise it by MPI_Init_thread with MPI_THREAD_MULTIPLE, or "
                  "let Communicator::mpi initialise it",
                  name_of_thread_level(level)));
}

void initialize_mpi() {
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
  std::atexit(finalize_at_exit);
  if (level == MPI_THREAD_MULTIPLE) return;
  throw UserError(
      fmt::format("Communicator::mpi: this MPI library supports {} at most; use one that is "
                  "built with MPI_THREAD_MULTIPLE",
                  name_of_thread_level(level)));
}

}  // namespace

bool is_mpi_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

bool is_forked_from_mpi_process() {
  const pid_t process = mpi_library().process;
  return process != 0 && process != getpid();
}

void start_mpi() {
  if (is_forked_from_mpi_process())
    throw UserError(
        "Communicator::mpi: this process was forked from one that uses MPI, and cannot use it; "
        "let mpirun start all processes that exchange values");
  if (is_mpi_finalized())
    throw UserError(
        "Communicator::mpi: MPI was finalised, and cannot be initialised again; call MPI_Finalize "
        "when no communicator is needed any more");
  MpiLibrary& library = mpi_library();
  const std::lock_guard lock(library.start_mutex);
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) initialize_mpi();
  check_thread_level();
  if (library.is_started) return;
  int key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_users_at_finalize, &key, nullptr),
            "MPI_Comm_create_keyval");
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
  library.process = getpid();
  library.is_started = true;
}

void check_mpi(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw UserError(fmt::format("{} failed with the code {}: {}", call, code,
                              length > 0 ? std::string_view(text, static_cast<std::size_t>(length))
                                         : std::string_view("MPI does not describe it")));
}

void add_mpi_user(const void* user, std::function<void(std::string_view why)> end) {
  MpiLibrary& library = mpi_library();
  const std::lock_guard lock(library.users_mutex);
  library.users[user] = std::move(end);
}

void forget_mpi_user(const void* user) {
  MpiLibrary& library = mpi_library();
  const std::lock_guard lock(library.users_mutex);
  library.users.erase(user);
}

void never_finalize_mpi() { mpi_library().may_finalize = false; }

}  // namespace sinter
