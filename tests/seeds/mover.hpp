// Moves real data as the simulated engines say, as unkindly as any machine could.
//
// What is read, is read when an instruction begins, and must still be the same when it ends.  What is
// written is spoiled in between, and is there when the instruction ends.  A breach ends the run.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "simulate/simulate.hpp"
#include "transport/moves.hpp"
#include "work.hpp"

namespace seeds {

class Mover final : public weft::Observer {
 public:
  Mover(const Work& work, const weft::Plan& plan, std::int32_t segments, std::int32_t window);

  void begins(std::int32_t rank, const weft::Instruction& instruction) override;
  void ends(std::int32_t rank, const weft::Instruction& instruction) override;

  const Memory& memory(std::int32_t rank) const { return ranks_[weft::at(rank)].memory; }
  bool is_busy() const { return !undertakings_.empty(); }

 private:
  struct Rank {
    Memory memory;
    weft::Plan plan;  // lowered for it alone, as in a real run
    weft::Moves moves;

    Rank(const Work& work, std::int32_t number, const Memory& initial, std::int32_t segments);
    const weft::Operation& operation(std::int32_t number) const;
    std::int64_t size() const;  // of its memory and its scratch
    float& operator[](std::int64_t element);
  };
  struct Packet {
    Memory content;  // and a guard
    bool left = false;
  };
  struct Write {
    std::int64_t element;
    float before, after;
  };
  struct Undertaking {
    std::int32_t rank;
    weft::Instruction instruction;
    std::vector<Write> writes;
  };

  void require(bool holds, const Undertaking& about, const char* promise) const;
  const weft::Operation* sent_by(const Undertaking& undertaking) const;
  const weft::Operation* received_by(const Undertaking& undertaking) const;
  Packet& packet(const weft::Operation& operation, std::int32_t segment);
  std::int32_t& in_room(const weft::Operation& operation);
  void carry_out_again(const Undertaking& now);
  void carry_out(const Undertaking& undertaking, float* leaves);
  std::vector<Write> spoiled_by(const Undertaking& undertaking, float* leaves);

  const weft::Plan& plan_;
  const std::int32_t segments_, window_;
  std::deque<Rank> ranks_;
  std::vector<Packet> packets_;         // by message and segment
  std::vector<std::int32_t> in_rooms_;  // by connection
  std::vector<Undertaking> undertakings_;
};

}  // namespace seeds
