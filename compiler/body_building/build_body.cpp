// Tries the ways to build a body, one after another.
#include "compiler/body_building/build_body.h"

#include "compiler/body/body_request.h"
#include "compiler/body_building/body_builder.h"

namespace sinter {

BodyAnswer build_body(const BodyRequest& request, const NodeNames& names) {
  BodyAnswer answer;
  BodyBuilder builder(request, names);
  try {
    answer.body = split_concat_if_fewer_bytes(builder.build(), request, names);
  } catch (Refusal& refusal) {
    answer.reason = std::move(refusal.reason);
  }
  if (answer || !builder.may_store_transposed()) return answer;
  try {
    BodyBuilder other(request, names, {}, TransposedStores::in_place);
    Body body = other.build();
    if (!other.stores_transposed()) return answer;
    answer.body = std::move(body);
    answer.reason.clear();
  } catch (const Refusal&) {
    // Keep the first reason, which is the simpler one.
  }
  return answer;
}

}  // namespace sinter
