#include "simulate/simulate.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "simulate/resources.hpp"

namespace weft {

namespace {

// In the order in which those of one moment are told.
enum class About : std::uint8_t { kEnded, kArrived, kCredited, kFree, kDeadline, kPeerGone };

struct Event {
  Picoseconds time;
  std::uint64_t key;  // what it is about, the rank that is told, and a number

  Event(Picoseconds when, About about, std::int32_t rank, std::int32_t number)
      : time(when),
        key(static_cast<std::uint64_t>(about) << 56 | static_cast<std::uint64_t>(rank) << 32 |
            static_cast<std::uint32_t>(number)) {}

  About about() const { return static_cast<About>(key >> 56); }
  std::int32_t rank() const { return static_cast<std::int32_t>(key >> 32 & 0xffffff); }
  std::int32_t number() const { return static_cast<std::int32_t>(key & 0xffffffff); }
  auto operator<=>(const Event&) const = default;
};

// An instruction that waits for the machine or is under way.
struct Job {
  Instruction instruction;
  std::int32_t rank;
  std::int32_t sends;     // the message that goes out, or -1
  std::int32_t resource;  // that it waited for last, or -1
  Picoseconds ready, start;
};

class Simulator {
 public:
  Simulator(const Plan& plan, const Machine& machine, const Settings& settings)
      : plan_(plan),
        machine_(machine),
        settings_(settings),
        resources_(plan.programs.size() + machine.rates.size()),
        touched_(plan.programs.size()) {
    engines_.reserve(plan.programs.size());
    for (const Program& program : plan.programs) {
      std::vector<bool> fuse;
      for (const Way& way : program.outgoing) fuse.push_back(machine.paths[at(way.connection)].by_processor);
      engines_.emplace_back(program, settings.segments, settings.window, std::move(fuse));
      touch(program.rank);
    }
    for (std::size_t first = 0, last = 0; first < machine.slowdowns.size(); first = last) {
      const std::int64_t resource = machine.slowdowns[first].resource;
      while (last < machine.slowdowns.size() && machine.slowdowns[last].resource == resource) ++last;
      resources_[at(resource)].slow(machine.slowdowns.subspan(first, last - first));
    }
    for (const Death& death : machine.deaths) spread(static_cast<std::int32_t>(death.rank), death.time);
    if (machine.deadline == kNever) return;
    for (const Program& program : plan.programs) tell(machine.deadline, About::kDeadline, program.rank, 0);
  }

  Trace run() {
    trace_.rank_ends.assign(engines_.size(), kNever);
    std::int64_t rounds = 0;
    for (;;) {
      end_jobs();
      while (!events_.empty() && events_.top().time == now_) {
        const Event event = events_.top();
        events_.pop();
        happen(event);
      }
      poll();
      start_what_may();
      if (events_.empty()) break;
      now_ = events_.top().time;
      if (settings_.breathe && ++rounds % 4096 == 0) settings_.breathe();
    }
    for (const Resource& resource : resources_) trace_.busy.push_back(resource.busy());
    return std::move(trace_);
  }

 private:
  const Connection& connection_of(std::int32_t message) const {
    return plan_.connections[at(plan_.messages[at(message)].connection)];
  }

  const Operation& operation(std::int32_t rank, std::int32_t number) const {
    return plan_.programs[at(rank)].operations[at(number)];
  }

  void tell(Picoseconds time, About about, std::int32_t rank, std::int32_t number) {
    if (time != kNever) events_.emplace(require_told(time), about, rank, number);
  }

  void touch(std::int32_t rank) {
    if (std::exchange(touched_[at(rank)], true)) return;
    to_poll_.push_back(rank);
  }

  void happen(const Event& event) {
    const std::int32_t rank = event.rank(), number = event.number();
    Engine& engine = engines_[at(rank)];
    switch (event.about()) {
      case About::kEnded:
        return;  // end_jobs has seen to it
      case About::kArrived: {
        const Message& message = plan_.messages[at(number)];
        engine.arrived(message.received_as, connection_of(number).incoming);
        ++trace_.events;
        return touch(rank);
      }
      case About::kCredited:
        engine.credited(number);
        ++trace_.events;
        return touch(rank);
      case About::kFree:
        resources_[at(number)].will_call = false;
        return next_of(number);
      case About::kPeerGone:
      case About::kDeadline:
        return misfortune(event);
    }
  }

  // In list order, segment by segment: how jobs are numbered must not show.
  void end_jobs() {
    ended_.clear();
    while (!events_.empty() && events_.top().time == now_ && events_.top().about() == About::kEnded) {
      ended_.push_back(events_.top().number());
      events_.pop();
    }
    std::ranges::sort(ended_, {}, [&](std::int32_t number) {
      const Job& job = jobs_[at(number)];
      return std::tuple(job.rank, job.instruction.segment, job.instruction.operation);
    });
    for (const std::int32_t number : ended_) end(number);
  }

  void end(std::int32_t number) {
    const Job& job = jobs_[at(number)];
    if (settings_.observer) settings_.observer->ends(job.rank, job.instruction);
    Engine& engine = engines_[at(job.rank)];
    const Operation& about = operation(job.rank, job.instruction.operation);
    if (life_of(about.kind).gives_room_back && !engine.failure()) give_credit(about.message);
    engine.ended(job.instruction);
    trace_.events += job.instruction.follower == kNone ? 1 : 2;
    trace_.end = now_;
    if (settings_.record) record(job);
    touch(job.rank);
    spare_jobs_.push_back(number);
  }

  void record(const Job& job) {
    const auto message_of = [&](std::int32_t o) { return o < 0 ? o : operation(job.rank, o).message; };
    const Instruction& i = job.instruction;
    const Operation& about = operation(job.rank, i.operation);
    trace_.records.push_back({job.ready, job.start, now_, job.rank, about.kind != Kind::kSend, about.message,
                              i.segment, message_of(i.follower), message_of(i.cause), job.resource});
  }

  // Bad news reaches a rank when it next does anything.
  void misfortune(const Event& event) {
    const std::int32_t rank = event.rank();
    const Picoseconds heard = resources_[at(rank)].resumes(now_);
    if (heard > now_) return tell(heard, event.about(), rank, event.number());
    Engine& engine = engines_[at(rank)];
    if (engine.failure() || engine.finished()) return;
    if (event.about() == About::kDeadline)
      engine.deadline();
    else
      engine.peer_gone(event.number());
    if (const auto& failure = engine.failure()) {
      const std::int32_t cause =
          failure->cause < 0 ? failure->cause : operation(rank, failure->cause).message;
      trace_.failures.push_back({now_, rank, failure->reason, operation(rank, failure->operation).message,
                                 failure->segment, failure->peer, cause});
      resources_[at(rank)].take(now_, kNever);
      spread(rank, now_);
    }
  }

  // Who is connected to a rank that has gone hears of it, as soon as a message could have told.
  void spread(std::int32_t rank, Picoseconds time) {
    const Program& program = plan_.programs[at(rank)];
    for (const auto* ways : {&program.outgoing, &program.incoming})
      for (const Way& way : *ways)
        tell(time + machine_.paths[at(way.connection)].latency, About::kPeerGone, way.peer, rank);
  }

  void poll() {
    for (const std::int32_t rank : to_poll_) {
      touched_[at(rank)] = false;
      Engine& engine = engines_[at(rank)];
      instructions_.clear();
      engine.poll(instructions_);
      for (const Instruction& instruction : instructions_) ask_for(rank, instruction);
      if (engine.finished() && trace_.rank_ends[at(rank)] == kNever && !engine.failure())
        trace_.rank_ends[at(rank)] = now_;
    }
    to_poll_.clear();
  }

  void give_credit(std::int32_t message) {
    const Connection& connection = connection_of(message);
    const Path& path = machine_.paths[at(plan_.messages[at(message)].connection)];
    tell(now_ + path.latency, About::kCredited, connection.src, connection.outgoing);
  }

  void ask_for(std::int32_t rank, const Instruction& instruction) {
    const std::int32_t out = instruction.follower == kNone ? instruction.operation : instruction.follower;
    const bool sends = operation(rank, out).kind == Kind::kSend;
    std::int32_t number = static_cast<std::int32_t>(jobs_.size());
    if (spare_jobs_.empty()) {
      jobs_.emplace_back();
    } else {
      number = spare_jobs_.back();
      spare_jobs_.pop_back();
    }
    jobs_[at(number)] = {instruction, rank, sends ? operation(rank, out).message : kNone, kNone, now_, 0};
    consider({instruction.segment, operation(rank, instruction.operation).message, number}, kNone);
  }

  struct Candidate {
    Waiter waiter;
    std::int32_t from;  // the resource that it waited for, or -1
    auto operator<=>(const Candidate&) const = default;
  };

  void consider(const Waiter& waiter, std::int32_t from) {
    candidates_.push_back({waiter, from});
    std::ranges::push_heap(candidates_, std::greater());
  }

  void next_of(std::int32_t resource) {
    auto& waiting = resources_[at(resource)].waiting;
    if (waiting.empty()) return;
    std::ranges::pop_heap(waiting, std::greater());
    consider(waiting.back(), resource);
    waiting.pop_back();
  }

  void start_what_may() {
    while (!candidates_.empty()) {
      std::ranges::pop_heap(candidates_, std::greater());
      const Candidate candidate = candidates_.back();
      candidates_.pop_back();
      const std::int32_t taken = what_is_taken(jobs_[at(candidate.waiter.job)]);
      if (taken == kNone)
        start(candidate.waiter.job);
      else
        wait(candidate.waiter, taken);
      if (candidate.from == kNone) continue;
      if (resources_[at(candidate.from)].is_free(now_))
        next_of(candidate.from);
      else
        call_when_free(candidate.from);
    }
  }

  std::span<const std::int64_t> path(std::int32_t message) const {
    if (message == kNone) return {};
    const std::int32_t connection = plan_.messages[at(message)].connection;
    const std::int64_t begin = connection == 0 ? 0 : machine_.paths[at(connection - 1)].end;
    return machine_.resources.subspan(at(begin), at(machine_.paths[at(connection)].end - begin));
  }

  std::int32_t what_is_taken(const Job& job) {
    if (!resources_[at(job.rank)].is_free(now_)) return job.rank;
    for (const std::int64_t resource : path(job.sends))
      if (!resources_[at(resource)].is_free(now_)) return static_cast<std::int32_t>(resource);
    return kNone;
  }

  void wait(const Waiter& waiter, std::int32_t resource) {
    jobs_[at(waiter.job)].resource = resource;
    auto& waiting = resources_[at(resource)].waiting;
    waiting.push_back(waiter);
    std::ranges::push_heap(waiting, std::greater());
    call_when_free(resource);
  }

  void call_when_free(std::int32_t number) {
    Resource& resource = resources_[at(number)];
    if (resource.waiting.empty() || std::exchange(resource.will_call, true)) return;
    tell(resource.next_free(now_), About::kFree, 0, number);
  }

  void start(std::int32_t number) {
    Job& job = jobs_[at(number)];
    job.start = now_;
    if (settings_.observer) settings_.observer->begins(job.rank, job.instruction);
    Resource& processor = resources_[at(job.rank)];
    Picoseconds end = processor.finish(now_, work_of_processor(job));
    if (job.sends == kNone) {
      processor.take(now_, end);
    } else {
      const Picoseconds left = std::max(end, take_path(job));
      const Path& way = machine_.paths[at(plan_.messages[at(job.sends)].connection)];
      processor.take(now_, way.by_processor ? left : end);
      end = left;
      if (end != kNever) tell(end + way.latency, About::kArrived, connection_of(job.sends).dst, job.sends);
    }
    tell(end, About::kEnded, job.rank, number);
  }

  // Returns when the last byte has left.
  Picoseconds take_path(const Job& job) {
    const std::int64_t bytes = bytes_of(job.sends, job.instruction.segment).all;
    Picoseconds last = now_;
    for (const std::int64_t number : path(job.sends)) {
      Resource& resource = resources_[at(number)];
      const std::int64_t rate = machine_.rates[at(number) - engines_.size()];
      const Picoseconds end = resource.finish(now_, time_of(bytes, rate));
      resource.take(now_, end);
      last = std::max(last, end);
    }
    return last;
  }

  Picoseconds work_of_processor(const Job& job) const {
    const Overheads& costs = machine_.overheads;
    const Instruction& i = job.instruction;
    const Operation& first = operation(job.rank, i.operation);
    if (first.kind == Kind::kSend) return costs.send;
    Picoseconds work = time_to_apply(first.message, i.segment);
    if (i.follower != kNone) {
      const Operation& second = operation(job.rank, i.follower);
      if (second.kind == Kind::kLocal) {
        const Picoseconds other = time_to_apply(second.message, i.segment);
        work = adds(first) && adds(second) ? require_told(work + other) : std::max(work, other);
      }
      if (second.kind == Kind::kSend) work += costs.send;
    }
    return work + (first.kind == Kind::kReceive ? costs.receive : 0);
  }

  // Of an operation that goes together with another, which is a single part.
  bool adds(const Operation& about) const {
    return plan_.parts[at(plan_.messages[at(about.message)].first)].adds;
  }

  Picoseconds time_to_apply(std::int32_t message, std::int32_t segment) const {
    const Overheads& costs = machine_.overheads;
    if (costs.reduce == 0 && costs.copy == 0) return 0;
    const Bytes bytes = bytes_of(message, segment);
    return require_told(time_of(bytes.added, costs.reduce) + time_of(bytes.all - bytes.added, costs.copy));
  }

  struct Bytes {
    std::int64_t all, added;
  };

  // The elements of the plan are bytes.
  Bytes bytes_of(std::int32_t message, std::int32_t segment) const {
    const Message& m = plan_.messages[at(message)];
    Bytes bytes{0, 0};
    for (const Part& part : std::span(plan_.parts).subspan(at(m.first), at(m.count))) {
      const std::int64_t size = segment_begin(part.elements, segment + 1, settings_.segments) -
                                segment_begin(part.elements, segment, settings_.segments);
      bytes.all += size;
      if (part.adds) bytes.added += size;
    }
    return bytes;
  }

  const Plan& plan_;
  const Machine& machine_;
  const Settings& settings_;
  Trace trace_;
  Picoseconds now_ = 0;
  std::vector<Engine> engines_;
  std::vector<Resource> resources_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Job> jobs_;
  std::vector<std::int32_t> spare_jobs_;
  std::vector<std::int32_t> ended_;    // of a moment
  std::vector<Candidate> candidates_;  // a heap, the lowest on top
  std::vector<char> touched_;
  std::vector<std::int32_t> to_poll_;
  std::vector<Instruction> instructions_;
};

}  // namespace

Trace simulate(const Plan& plan, const Machine& machine, const Settings& settings) {
  return Simulator(plan, machine, settings).run();
}

}  // namespace weft
