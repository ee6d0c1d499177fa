// The layout of the graph: values within groups, and groups within kernels.

const kMaxOpenable = 3000;      // values; with more, there is no button to open all kernels
const kMaxInitiallyOpen = 150;  // values; with more, all kernels are closed at first
const kMaxLayersApart = 4;
const kLine = 17;
const kPadding = 14;
const kHead = 50;

const letterWidth = (() => {
  const context = document.createElement('canvas').getContext('2d');
  context.font = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
  return Math.max(6.6, context.measureText('MMMMMMMMMM').width / 10);
})();

const widthOf = (lines) => Math.max(...lines.map((line) => line.length)) * letterWidth;

/** Kernels and groups with the values in each, and lookups by name. */
function modelOf(data) {
  const groups = data.groups.map((group) => ({...group, values: [], count: 1}));
  const groupOf = new Map(groups.map((group) => [group.name, group]));
  data.nodes.forEach((node, i) => node.groups.forEach((name) => {
    if (groupOf.has(name)) groupOf.get(name).values.push(i);
  }));
  const kernels = data.kernels.map((kernel, i) => ({...kernel, index: i, isOpen: true,
    groups: groups.filter((group) => group.kernel === i)}));
  // Sections that run the same code on different arrays are drawn once.
  const representative = new Map();
  for (const kernel of kernels) {
    const first = new Map();
    kernel.drawn = kernel.groups.filter((group) => {
      const key = `${group.phase} ${group.list}`;
      const known = group.list >= 0 ? first.get(key) : undefined;
      if (known) ++known.count;
      else first.set(key, group);
      representative.set(group.name, known || group);
      return !known;
    });
    kernel.isHorizontal = kernel.groups.length > 1;
    kernel.valueCount = kernel.drawn.reduce((sum, group) => sum + Math.max(1, group.values.length), 0);
  }
  const kernelOf = new Map(data.kernels.map((kernel, i) => [kernel.name, i]));
  for (const group of groups) kernelOf.set(group.name, group.kernel);
  const count = kernels.reduce((sum, kernel) => sum + kernel.valueCount, 0);
  const open = count <= kMaxInitiallyOpen;
  for (const kernel of kernels) kernel.isOpen = open;
  return {data, groups, groupOf, kernels, kernelOf, representative, count};
}

const typeText = (node) => node.dtype + node.shape;

/** The values that are not drawn in any kernel, mostly outputs that are views. */
function freeValues(data) {
  const isFree = (node) => node.groups.length === 0 &&
    (node.role === 'view' || node.role === 'simplified');
  return data.nodes.map((node, i) => i).filter((i) => isFree(data.nodes[i]));
}

function valueItem(data, i) {
  const node = data.nodes[i];
  const result = node.outputs.concat(node.updates ? [`${node.updates} (updated)`] : []);
  const lines = [`${shortened(node.name, 28)} = ${node.op}`, shortened(typeText(node), 36)];
  if (result.length > 0) lines.push(`→ ${shortened(result.join(', '), 34)}`);
  return {kind: 'value', node: i, lines, role: node.role, isResult: result.length > 0,
    width: widthOf(lines) + 18, height: lines.length * kLine + 10};
}

/** A value that a group reads: an input, a value of another group, or parts of a value from one. */
function sourceItem(data, i, from, isParts) {
  const node = data.nodes[i];
  const name = shortened(node.name, 28);
  const lines = [isParts ? `parts of ${name}` : `${name}  ${shortened(typeText(node), 34)}`];
  if (from) lines.push(`from ${shortened(from, 34)}`);
  return {kind: 'source', node: i, lines, role: from ? 'stored' : node.role,
    width: widthOf(lines) + 24, height: lines.length * kLine + 6};
}

/** The sources of a value in a group: one for each operand that is not in the group. */
function sourcesOf(data, group, value, isInside) {
  const writers = new Set(group.reads.flatMap((use) => use.from));
  const arrays = new Set(group.reads.map((use) => use.array));
  const earlier = data.nodes[value].groups.find((name) => name !== group.name && writers.has(name));
  const sources = [];
  for (const operand of new Set(data.nodes[value].operands)) {
    if (isInside(operand)) continue;
    const node = data.nodes[operand];
    const isRead = [node.name, ...node.emitted_as].some((name) => arrays.has(name));
    // Another group started computing this value: the group reads its parts, not its operands.
    if (earlier && !isRead && node.role !== 'input') {
      sources.push({key: `parts of ${value}`, node: value, from: earlier, isParts: true});
    } else {
      const from = node.groups.find((name) => writers.has(name)) || node.groups[0] || '';
      sources.push({key: String(operand), node: operand, from, isParts: false});
    }
  }
  return sources.filter((one, i) => sources.findIndex((other) => other.key === one.key) === i);
}

/** A group that computes nothing: it copies the results of others, mostly for an update. */
function layoutCopies(group) {
  const item = (kind, role, lines) => ({kind, role, lines, node: null, isResult: kind === 'value',
    width: widthOf(lines) + 24, height: lines.length * kLine + 8});
  const sources = group.reads.map((use) => item('source', 'stored',
    [shortened(use.array, 34), ...use.from.slice(0, 1).map((name) => `from ${shortened(name, 34)}`)]));
  const copies = group.writes.map((use) => item('value', 'computed',
    [`copy into ${shortened(use.array, 34)}`, bytesText(use.bytes)]));
  const items = [...sources, ...copies];
  const edges = sources.flatMap((source, i) => copies.map((copy, j) => [i, sources.length + j]));
  const layout = arranged(items, edges, 18, 30);
  return {items, edges, layout, width: layout.width, height: layout.height};
}

/** A group's values, with their sources above them. */
function layoutGroup(data, group) {
  if (group.values.length === 0) return layoutCopies(group);
  const items = group.values.map((i) => valueItem(data, i));
  const index = new Map(group.values.map((value, i) => [value, i]));
  const edges = [];
  group.values.forEach((value, i) => {
    for (const operand of new Set(data.nodes[value].operands))
      if (index.has(operand)) edges.push([index.get(operand), i]);
  });
  // A source with distant readers is drawn once near each of them, to avoid long lines.
  const layer = layersOf(items.length, edges);
  const drawn = new Map();
  const order = [...group.values.keys()].sort((a, b) => layer[a] - layer[b]);
  for (const i of order)
    for (const wanted of sourcesOf(data, group, group.values[i], (operand) => index.has(operand))) {
      let source = drawn.get(wanted.key);
      if (!source || layer[i] - source.layer > kMaxLayersApart) {
        source = {item: items.length, layer: layer[i]};
        drawn.set(wanted.key, source);
        items.push(sourceItem(data, wanted.node, wanted.from, wanted.isParts));
      }
      edges.push([source.item, i]);
    }
  const layout = arranged(items, edges, 18, 30);
  return {items, edges, layout, width: layout.width, height: layout.height};
}

/** The arrays that pass from one box to another, and the reasons why the boxes are separate. */
function edgesBetween(model, boxOf) {
  const edges = new Map();
  const between = (from, to) => {
    const [a, b] = [boxOf(from), boxOf(to)];
    if (a === undefined || b === undefined || a === b) return null;
    const key = a < b ? `${a} ${b}` : `${b} ${a}`;
    if (!edges.has(key))
      edges.set(key, {from: Math.min(a, b), to: Math.max(a, b), uses: [], reasons: []});
    return edges.get(key);
  };
  for (const group of model.groups)
    for (const use of group.reads)
      for (const from of use.from) {
        const edge = between(from, group.name);
        if (edge && !edge.uses.some((other) => other.array === use.array)) edge.uses.push(use);
      }
  for (const boundary of model.data.boundaries) {
    const edge = between(boundary.producer, boundary.consumer);
    if (edge) edge.reasons.push(boundary);
  }
  return [...edges.values()];
}

function edgeText(edge) {
  if (edge.uses.length === 0) return '';
  return bytesText(edge.uses.reduce((sum, use) => sum + use.bytes, 0));
}

function layoutKernel(model, kernel) {
  const heads = [shortened(kernel.name, 44), headText(kernel)];
  // The head has a larger font than values, and a button at its end.
  const headWidth = widthOf(heads) * 1.12 + 40;
  const closed = {kind: 'kernel', kernel, heads, children: [], edges: [],
    width: headWidth + 2 * kPadding, height: kHead + 12};
  if (!kernel.isOpen || kernel.valueCount === 0) return closed;
  const inner = kernel.drawn.map((group) => layoutGroup(model.data, group));
  if (!kernel.isHorizontal)
    return {...closed, group: inner[0],
      width: Math.max(closed.width, inner[0].width + 2 * kPadding),
      height: kHead + inner[0].height + 2 * kPadding};
  const sections = inner.map((group, i) => {
    const section = kernel.drawn[i];
    const more = section.count > 1 ? ` and ${section.count - 1} more like it` : '';
    const head = `${shortened(section.name, 36)}${more}`;
    const phase = `phase ${section.phase} · ${section.kind}`;
    return {kind: 'group', section, heads: [head, phase], group,
      width: Math.max(group.width, widthOf([head, phase]) * 1.05) + 2 * kPadding,
      height: kHead + group.height + kPadding};
  });
  const index = new Map(kernel.drawn.map((group, i) => [group.name, i]));
  const edges = edgesBetween(model, (name) =>
    model.representative.has(name) ? index.get(model.representative.get(name).name) : undefined);
  const layout = arranged(sections, edges.map((edge) => [edge.from, edge.to]), 26, 46);
  return {...closed, children: sections, edges, layout,
    width: Math.max(closed.width, layout.width + 2 * kPadding),
    height: kHead + layout.height + 2 * kPadding};
}

function headText(kernel) {
  if (kernel.kind === 'opaque') return `a call · ${bytesText(kernel.bytes_read)}`;
  return [kernel.kind, counted(kernel.nodes.length, 'op'),
    bytesText(kernel.bytes_read + kernel.bytes_written),
    `${timeText(kernel.predicted_us)} predicted`].join(' · ');
}

/** All boxes and edges with their positions. */
function layoutGraph(model) {
  const kernels = model.kernels.map((kernel) => layoutKernel(model, kernel));
  const free = freeValues(model.data).slice(0, 60).map((i) => valueItem(model.data, i));
  const edges = edgesBetween(model, (name) => model.kernelOf.get(name));
  const layout = arranged([...kernels, ...free], edges.map((edge) => [edge.from, edge.to]), 34, 58);
  return {kernels, free, edges, layout, width: layout.width, height: layout.height};
}
