#include "transport/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <string>
#include <system_error>

namespace weft {

namespace {

struct alignas(64) Member {
  std::atomic<std::int32_t> presence;
};

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void refuse(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::int64_t place_bytes(const Shape& shape) {
  return kLine + (shape.segment_bytes + kLine - 1) / kLine * kLine;
}

std::int64_t link_bytes(const Shape& shape) {
  return static_cast<std::int64_t>(sizeof(Returns)) + shape.window * place_bytes(shape);
}

std::int64_t file_bytes(const Shape& shape) {
  return shape.ranks * kLine + std::int64_t{shape.ranks} * shape.ranks * link_bytes(shape);
}

}  // namespace

int SharedMemory::create(const Shape& shape) {
  const int descriptor = memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) refuse("memory cannot be shared");
  if (ftruncate(descriptor, file_bytes(shape)) < 0 || fcntl(descriptor, F_ADD_SEALS, kSeals) < 0) {
    const int problem = errno;
    close(descriptor);
    throw std::system_error(problem, std::generic_category(), "memory cannot be shared");
  }
  return descriptor;
}

SharedMemory::SharedMemory(int descriptor, const Shape& shape) : shape_(shape) {
  struct stat about{};
  if (fstat(descriptor, &about) < 0) refuse("the shared memory cannot be opened");
  const int seals = fcntl(descriptor, F_GET_SEALS);  // -1 where a file cannot have any
  if (about.st_size != file_bytes(shape) || seals < 0 || (seals & kSeals) != kSeals)
    throw BrokenPeer("the descriptor is not that of a shared memory of this shape");
  descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (descriptor_ < 0) refuse("the shared memory cannot be opened");
  void* memory = mmap(nullptr, at(file_bytes(shape)), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) {
    const int problem = errno;
    close(descriptor_);
    throw std::system_error(problem, std::generic_category(), "the shared memory cannot be mapped");
  }
  memory_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() {
  munmap(memory_, at(file_bytes(shape_)));
  close(descriptor_);
}

int SharedMemory::open_again() const {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor_);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) refuse("the shared memory cannot be opened");
  return descriptor;
}

std::atomic<std::int32_t>& SharedMemory::presence(std::int32_t rank) const {
  return reinterpret_cast<Member*>(memory_ + rank * kLine)->presence;
}

Returns* SharedMemory::returns(std::int32_t src, std::int32_t dst) const {
  const std::int64_t link = std::int64_t{src} * shape_.ranks + dst;
  return reinterpret_cast<Returns*>(memory_ + shape_.ranks * kLine + link * link_bytes(shape_));
}

std::byte* SharedMemory::place(std::int32_t src, std::int32_t dst, std::int32_t number) const {
  return reinterpret_cast<std::byte*>(returns(src, dst) + 1) + number * place_bytes(shape_);
}

Outbox::Outbox(const SharedMemory& memory, std::int32_t src, std::int32_t dst)
    : window_(memory.shape().window), peer_(dst), returns_(memory.returns(src, dst)) {
  for (std::int32_t n = 0; n < window_; ++n) places_[at(n)] = memory.place(src, dst, n);
  std::iota(order_.begin(), order_.begin() + window_, std::uint8_t{0});
}

void Outbox::throw_broken(const char* what) const {
  throw BrokenPeer("rank " + std::to_string(peer_) + " gave back " + what);
}

std::int32_t Outbox::look() {
  const std::uint64_t count = returns_->count.load(std::memory_order_acquire);
  const std::uint64_t news = count - returned_;
  if (news == 0) return 0;
  if (news > at(out_)) throw_broken("more than it was sent");
  for (; returned_ != count; ++returned_, --out_) {
    const std::uint8_t place = look_once(returns_->places[returned_ % kMostPlaces]);
    if (place >= window_ || !(taken_ >> place & 1)) throw_broken("what it was not sent");
    taken_ &= ~(1u << place);
    order_[(returned_ + at(window_)) % kMostPlaces] = place;
  }
  return static_cast<std::int32_t>(news);
}

Inbox::Inbox(const SharedMemory& memory, std::int32_t src, std::int32_t dst)
    : window_(memory.shape().window), returns_(memory.returns(src, dst)) {
  for (std::int32_t n = 0; n < window_; ++n) places_[at(n)] = memory.place(src, dst, n);
  std::iota(order_.begin(), order_.begin() + window_, std::uint8_t{0});
}

}  // namespace weft
