// Syntax highlighting of CUDA C++: comments, literals, preprocessor lines, keywords, types and CUDA
// names.

const kKeywords = new Set(('alignas asm auto break case const constexpr continue default do else ' +
  'enum extern for goto if inline namespace operator private public return sizeof static ' +
  'static_assert static_cast reinterpret_cast struct switch template this typedef typename union ' +
  'using volatile while true false nullptr').split(' '));
const kTypes = new Set(('void bool char short int long float double unsigned signed half ' +
  'Vector bf16 f16 f8e4m3 f8e5m2 i8 i16 i32 i64 u8 u16 u32 u64').split(' '));
const kDevice = /^(__\w+__|__\w+|threadIdx|blockIdx|blockDim|gridDim|warpSize)$/;
// Each alternative is one kind of token, in the order of `kKinds`.
const kToken = new RegExp([
  '(//[^\\n]*|/\\*[\\s\\S]*?\\*/)', '("(?:\\\\.|[^"\\\\\\n])*"|\'(?:\\\\.|[^\'\\\\\\n])*\')',
  '(^[ \\t]*#[^\\n]*)', '(\\b0[xX][0-9a-fA-F]+\\w*|\\b\\d[\\d.]*(?:[eE][+-]?\\d+)?\\w*)',
  '([A-Za-z_]\\w*)'].join('|'), 'gm');
const kKinds = ['comment', 'string', 'preprocessor', 'number'];

function kindOfWord(word) {
  if (kKeywords.has(word)) return 'keyword';
  if (kTypes.has(word)) return 'type';
  return kDevice.test(word) ? 'device' : null;
}

/** The text of `source` as elements whose classes are the kinds of tokens. */
function highlighted(source) {
  const code = html('code', {});
  let done = 0;
  for (const match of source.matchAll(kToken)) {
    const index = match.slice(1).findIndex((part) => part !== undefined);
    const kind = index < kKinds.length ? kKinds[index] : kindOfWord(match[0]);
    if (!kind) continue;
    code.append(source.slice(done, match.index), html('span', {class: kind}, match[0]));
    done = match.index + match[0].length;
  }
  code.append(source.slice(done));
  return code;
}
