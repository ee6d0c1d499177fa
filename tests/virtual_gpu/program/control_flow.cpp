// order_blocks: the order of basic blocks.
#include <algorithm>
#include <limits>
#include <set>

#include "tests/virtual_gpu/program/draft.h"

namespace sinter::virtual_gpu {

namespace {

/// A weak topological order (Bourdoncle, Efficient Chaotic Iteration Strategies with Widenings,
/// 1993, figure 4). A block comes behind all its predecessors, except those of a loop that it
/// begins, and the blocks of a loop are adjacent. So lanes that leave a loop, or skip a branch,
/// have a higher position than lanes that they can still meet.
class WeakOrder {
 public:
  explicit WeakOrder(const std::vector<BasicBlock>& blocks)
      : blocks_(blocks), number_(blocks.size(), 0) {}

  std::vector<std::size_t> find() {
    std::vector<std::size_t> reversed;
    visit(0, reversed);
    std::ranges::reverse(reversed);
    return reversed;
  }

 private:
  static constexpr int kDone = std::numeric_limits<int>::max();

  /// Appends the component of the block to `order`, which is in reverse.
  int visit(std::size_t block, std::vector<std::size_t>& order) {
    stack_.push_back(block);
    const int own = number_[block] = ++count_;
    int head = own;
    bool is_loop = false;
    for (const std::size_t next : blocks_[block].successors) {
      const int least = number_[next] == 0 ? visit(next, order) : number_[next];
      if (least <= head) {
        head = least;
        is_loop = true;
      }
    }
    if (head != own) return head;
    number_[block] = kDone;
    std::size_t popped = pop();
    if (is_loop) {
      for (; popped != block; popped = pop()) number_[popped] = 0;
      std::vector<std::size_t> body;
      for (const std::size_t next : blocks_[block].successors)
        if (number_[next] == 0) visit(next, body);
      order.insert(order.end(), body.begin(), body.end());
    }
    order.push_back(block);
    return head;
  }

  std::size_t pop() {
    const std::size_t block = stack_.back();
    stack_.pop_back();
    return block;
  }

  const std::vector<BasicBlock>& blocks_;
  std::vector<int> number_;
  std::vector<std::size_t> stack_;
  int count_ = 0;
};

Draft jump_to(std::int32_t draft_index, std::int32_t line) {
  Draft jump;
  jump.operation.execute = handlers::branch;
  jump.operation.line = line;
  jump.kind = InstructionClass::control;
  jump.ends_block = true;
  jump.falls_through = false;
  jump.targets = {draft_index};
  return jump;
}

}  // namespace

std::vector<BasicBlock> find_blocks(const std::vector<Draft>& drafts) {
  std::set<std::size_t> leaders = {0};
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    if (drafts[i].ends_block && i + 1 < drafts.size()) leaders.insert(i + 1);
    for (const std::int32_t target : drafts[i].targets)
      leaders.insert(static_cast<std::size_t>(target));
  }
  std::vector<BasicBlock> blocks;
  std::vector<std::size_t> block_of(drafts.size());
  for (const std::size_t leader : leaders) {
    block_of[leader] = blocks.size();
    if (!blocks.empty()) blocks.back().end = leader;
    blocks.push_back({.begin = leader, .end = drafts.size()});
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Draft& last = drafts[blocks[i].end - 1];
    if (last.falls_through && i + 1 < blocks.size()) blocks[i].next = i + 1;
    if (blocks[i].next) blocks[i].successors.push_back(i + 1);
    for (const std::int32_t target : last.targets)
      blocks[i].successors.push_back(block_of[static_cast<std::size_t>(target)]);
  }
  return blocks;
}

void order_blocks(DraftKernel& draft) {
  for (Draft& one : draft.drafts)
    for (std::int32_t& target : one.targets)
      target = draft.labels[static_cast<std::size_t>(target)];
  const std::vector<BasicBlock> blocks = find_blocks(draft.drafts);
  const std::vector<std::size_t> order = WeakOrder(blocks).find();

  std::vector<Draft> ordered;
  std::vector<std::int32_t> position(draft.drafts.size() + 1, -1);  // of the first draft of a block
  for (std::size_t i = 0; i < order.size(); ++i) {
    const BasicBlock& block = blocks[order[i]];
    position[block.begin] = static_cast<std::int32_t>(ordered.size());
    for (std::size_t k = block.begin; k < block.end; ++k)
      ordered.push_back(std::move(draft.drafts[k]));
    if (!block.next || (i + 1 < order.size() && order[i + 1] == *block.next)) continue;
    const auto next = static_cast<std::int32_t>(blocks[*block.next].begin);
    Draft jump = jump_to(next, ordered.back().operation.line);
    draft.new_details(jump);
    ordered.push_back(std::move(jump));
  }
  for (Draft& one : ordered) {
    for (std::int32_t& target : one.targets) target = position[static_cast<std::size_t>(target)];
    if (one.targets.empty()) continue;
    one.details->target = one.targets.front();
    one.details->targets = one.targets;
  }
  draft.drafts = std::move(ordered);
}

}  // namespace sinter::virtual_gpu
