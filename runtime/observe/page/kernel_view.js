// The details of one kernel, one value, or one line of the graph.

const kUnknown = () => html('span', {class: 'quiet'}, 'not known');

function factRows(rows) {
  return html('dl', {class: 'facts'}, rows.filter(Boolean).map(([name, value, hint]) =>
    html('div', {title: hint}, html('dt', {}, name), html('dd', {}, value))));
}

function bytesFact(kernel) {
  const bytes = kernel.bytes_read + kernel.bytes_written;
  const share = bytes > 0 ? Math.min(1, kernel.minimal_bytes / bytes) : 1;
  const most = kernel.bytes_are_bounds ? 'at most ' : '';
  return [html('span', {}, `${most}${bytesText(kernel.bytes_read)} read, ` +
      `${bytesText(kernel.bytes_written)} written: ${timesText(bytes, kernel.minimal_bytes)}`),
  html('span', {class: 'meter', title: 'the minimum, as a share of the bytes moved'},
    html('span', {style: `width:${100 * share}%`}))];
}

function timeFact(kernel) {
  const measured = kernel.measured;
  if (!measured)
    return html('span', {class: 'quiet'}, 'not measured: a measurement needs a device (profile)');
  return `${timeText(measured.median_us)} [${digits(measured.lower_quartile_us)}, ` +
    `${digits(measured.upper_quartile_us)}], ${digits(measured.gigabytes_per_second)} GB/s, ` +
    `${digits(100 * measured.share_of_copy)} % of a copy's speed`;
}

function compiledFacts(kernel, data) {
  if (kernel.kind === 'opaque') return [];
  const or = (value, text) => (value === null ? kUnknown() : text(value));
  const need = data.roofs.bytes_in_flight;
  return [
    ['registers', or(kernel.registers, (value) => `${value} per thread, ` +
      `${bytesText(kernel.spill_bytes)} spilled`)],
    ['per SM', or(kernel.blocks_per_sm, (value) => `${kernel.cluster > 1 ? 'at most ' : ''}` +
      `${counted(value, 'block')}, ${digits(100 * kernel.occupancy)} % of its threads`)],
    ['in flight', or(kernel.bytes_in_flight, (value) => `${bytesText(value)} per SM, ` +
      `${counted(kernel.independent_loads, 'independent load')} per thread; ` +
      `full bandwidth needs ${bytesText(need)}`)],
    kernel.compile_ms === null ? null : ['compiled', `in ${digits(kernel.compile_ms)} ms`],
  ];
}

function kernelFacts(kernel, data) {
  const isCall = kernel.kind === 'opaque';
  return factRows([
    ['bytes', bytesFact(kernel)],
    kernel.launches === 0 ? ['launches', 'none: a size is zero'] : null,
    ['predicted', isCall ? kUnknown() : `${timeText(kernel.predicted_us)}, ` +
      `${scaledText(kernel.instructions)} instructions without loads and stores`],
    ['measured', timeFact(kernel)],
    isCall ? null : ['launch', `${counted(kernel.grid, 'block')} of ${kernel.threads} threads` +
      (kernel.cluster > 1 ? `, in clusters of ${kernel.cluster}` : '') +
      `, ${bytesText(kernel.shared_bytes)} of shared memory, ${kernel.vector_bytes}-byte accesses`],
    isCall ? null : ['schedule', kernel.schedule],
    ...compiledFacts(kernel, data),
  ]);
}

const part = (title, ...children) =>
  html('section', {class: 'part'}, html('h3', {}, title), children);

const kReasonsAtOnce = 4;  // per pair of kernels; further reasons are collapsed

/** The reasons why kernels are separate, by pairs of kernels. */
function reasonList(boundaries, show) {
  const pairs = new Map();
  for (const boundary of boundaries) {
    const key = JSON.stringify([boundary.producer, boundary.consumer]);
    if (!pairs.has(key)) pairs.set(key, []);
    pairs.get(key).push(boundary);
  }
  const line = (boundary) => html('div', {}, boundary.reason,
    html('span', {class: 'quiet'}, ` (${bytesText(boundary.bytes)})`));
  return html('ul', {class: 'reasons'}, [...pairs.values()].map((pair) => html('li', {},
    html('div', {class: 'pair'}, show.link(pair[0].producer), ' | ', show.link(pair[0].consumer),
      pair[0].is_inside ? html('span', {class: 'quiet'}, ' inside one launch') : null),
    pair.slice(0, kReasonsAtOnce).map(line),
    pair.length > kReasonsAtOnce ? html('details', {},
      html('summary', {}, `${pair.length - kReasonsAtOnce} more reasons`),
      pair.slice(kReasonsAtOnce).map(line)) : null)));
}

function usesPart(kernel) {
  const row = (group, use, way) => html('tr', {}, html('td', {}, use.array),
    html('td', {}, way), html('td', {class: 'number'}, bytesText(use.bytes)),
    html('td', {}, use.from.length > 0 ? `from ${use.from.join(', ')}` : use.kind),
    kernel.isHorizontal ? html('td', {}, group.name) : null);
  const rows = kernel.drawn.flatMap((group) => [
    ...group.reads.map((use) => row(group, use, 'read')),
    ...group.writes.map((use) => row(group, use, 'written'))]);
  if (rows.length === 0) return null;
  return part('Arrays', html('div', {class: 'wide'}, html('table', {}, html('tbody', {}, rows.slice(0, 200)))),
    rows.length > 200 ? html('p', {class: 'quiet'}, `and ${rows.length - 200} more`) : null);
}

function accessPart(kernel) {
  if (!kernel.arrays || kernel.arrays.length === 0) return null;
  const cell = (found, meant) => html('td', {class: 'number'},
    found === 0 && meant === 0 ? '–' : found === meant ? `${found}` : `${found}, ${meant} predicted`);
  return part('Bytes per access in the PTX', html('div', {class: 'wide'},
    html('table', {}, html('thead', {}, html('tr', {}, ['array', 'loads', 'stores', ''].map((name, i) =>
      html('th', {scope: 'col', class: i === 1 || i === 2 ? 'number' : null}, name)))),
    html('tbody', {}, kernel.arrays.map((array) => html('tr', {}, html('td', {}, array.name),
      cell(array.load_bytes, array.predicted_load_bytes),
      cell(array.store_bytes, array.predicted_store_bytes),
      html('td', {class: 'problem'}, array.problem || '')))))));
}

function sectionsPart(kernel, show) {
  if (!kernel.isHorizontal) return null;
  return part('Sections of this launch', html('ol', {class: 'sections'}, kernel.drawn.map((group) =>
    html('li', {}, html('span', {class: 'quiet'}, `phase ${group.phase} `), group.name,
      group.count > 1 ? ` and ${group.count - 1} more that run the same code` : '',
      html('span', {class: 'quiet'}, ` ${group.kind}`)))));
}

function sourcePart(kernel) {
  if (!kernel.source) return null;
  const title = kernel.kind === 'opaque' ? 'Call' : 'Source';
  return part(title, html('pre', {class: 'source', tabindex: '0', 'aria-label': `${title} of ${kernel.name}`},
    highlighted(kernel.source)));
}

function kernelDetails(model, kernel, show) {
  const {data} = model;
  const touches = (name) => model.kernelOf.get(name) === kernel.index;
  const boundaries = data.boundaries.filter((boundary) =>
    touches(boundary.producer) || touches(boundary.consumer));
  const places = [...new Set(kernel.places)];
  return [
    html('h2', {}, kernel.name, html('span', {class: 'kind'}, kernel.kind)),
    kernelFacts(kernel, data),
    kernel.kind !== 'opaque' && data.why_not_compiled ?
      html('p', {class: 'quiet'}, `Not compiled: ${data.why_not_compiled}`) : null,
    kernel.notes.length > 0 ? part('Notes', html('ul', {class: 'notes'},
      kernel.notes.map((note) => html('li', {}, note)))) : null,
    sourcePart(kernel),
    boundaries.length > 0 ?
      part('Why its neighbours are separate kernels', reasonList(boundaries, show)) : null,
    kernel.candidates.length > 0 ? part('Tuning', drawTuning(kernel)) : null,
    usesPart(kernel), accessPart(kernel), sectionsPart(kernel, show),
    part('Ops, after simplification', html('pre', {class: 'ops', tabindex: '0'},
      kernel.nodes.slice(0, 600).map((text, i) => html('div', {},
        html('span', {}, text), places.length > 1 && kernel.places[i] ?
          html('span', {class: 'quiet'}, `  ${kernel.places[i]}`) : null)))),
  ];
}

const kRoles = {
  input: 'an input', scalar: 'a number that each run gets', number: 'a constant',
  computed: 'computed', view: 'a view: an index mapping that moves no data',
  simplified: 'simplified: a rewrite removed it',
};

function nodeDetails(model, index, show) {
  const node = model.data.nodes[index];
  const groups = node.groups.map((name, i) => [i > 0 ? ', ' : '', show.link(name)]);
  return html('section', {class: 'value-details'},
    html('h3', {}, `${node.name}`, html('span', {class: 'kind'}, typeText(node))),
    html('code', {class: 'statement'}, node.text),
    html('p', {}, kRoles[node.role],
      groups.length > 0 ? [node.role === 'computed' ? ' in ' : ', in ', groups] : '',
      groups.length > 1 && node.role === 'computed' ? ' (computed again rather than stored)' : '',
      node.emitted_as.length > 0 && String(node.emitted_as) !== node.name ?
        ['; in the source ', html('code', {}, shortened(node.emitted_as.join(', '), 200))] : '',
      `; recorded at ${node.place}`, node.outputs.length > 0 ? `; output ${node.outputs.join(', ')}` : '',
      node.updates ? `; written into ${node.updates}` : ''));
}

function edgeDetails(edge, names, show) {
  const reasons = edge.reasons.length > 0 ? reasonList(edge.reasons, show) :
    html('p', {class: 'quiet'}, 'There is no direct reason: the boundaries between their ' +
      'neighbours keep them separate.');
  const uses = edge.uses.map((use) => html('li', {}, html('code', {}, use.array),
    ` ${bytesText(use.bytes)}, written by ${use.from.join(', ')}`));
  return [
    html('h2', {}, 'Why these are separate'),
    html('p', {}, show.link(names(edge.from)), ' and ', show.link(names(edge.to))),
    part(edge.reasons.length > 1 ? 'Reasons' : 'Reason', reasons),
    uses.length > 0 ? part('Arrays that pass through memory', html('ul', {}, uses)) : null,
  ];
}
