// The ways to build a body, one after the other.
#include "compiler/body_building/build_body.h"

#include "compiler/body/body_request.h"
#include "compiler/body_building/body_builder.h"

namespace sinter {

BodyAnswer build_body(const BodyRequest& request, const NodeNames& names) {
  BodyAnswer answer;
  BodyBuilder builder(request, names);
  try {
    answer.body = cut_where_less_is_read(builder.build(), request, names);
  } catch (Refusal& refusal) {
    answer.why_not = std::move(refusal.reason);
  }
  if (answer || !builder.may_have_turned()) return answer;
  try {
    BodyBuilder other(request, names, {}, Turned::at_hand);
    Body body = other.build();
    if (!other.has_turned()) return answer;
    answer.body = std::move(body);
    answer.why_not.clear();
  } catch (const Refusal&) {
    // The first reason is the plainer one.
  }
  return answer;
}

}  // namespace sinter
