// Layered layout (Sugiyama, Tagawa and Toda). Each box is in a layer below all its dependencies
// (longest path). Within a layer, boxes are ordered by the mean position of their neighbours and
// placed as close to it as the other boxes allow.

const kSweeps = 8;
const kMaxBends = 4000;  // with more bends, long edges run straight and may cross boxes

/** Positions at least `gaps` apart and as close to `wanted` as possible (least squares). */
function spread(wanted, gaps) {
  const blocks = [];  // adjacent positions that are exactly one gap apart
  let offset = 0;
  wanted.forEach((position, i) => {
    offset += i > 0 ? gaps[i - 1] : 0;
    blocks.push({sum: position - offset, count: 1});
    for (let last = blocks.length - 1; last > 0; --last) {
      const [a, b] = [blocks[last - 1], blocks[last]];
      if (a.sum / a.count <= b.sum / b.count) break;
      blocks.splice(last - 1, 2, {sum: a.sum + b.sum, count: a.count + b.count});
    }
  });
  const positions = [];
  offset = 0;
  for (const block of blocks)
    for (let i = 0; i < block.count; ++i) {
      offset += positions.length > 0 ? gaps[positions.length - 1] : 0;
      positions.push(block.sum / block.count + offset);
    }
  return positions;
}

/** The layer of each item, from 0 on. `edges` are pairs of items without cycles. */
function layersOf(count, edges) {
  const outgoing = Array.from({length: count}, () => []);
  const waiting = new Array(count).fill(0);
  for (const [from, to] of edges) {
    outgoing[from].push(to);
    ++waiting[to];
  }
  const isSource = waiting.map((number) => number === 0);
  const layer = new Array(count).fill(0);
  const ready = [...waiting.keys()].filter((i) => isSource[i]);
  for (let at = 0; at < ready.length; ++at)
    for (const to of outgoing[ready[at]]) {
      layer[to] = Math.max(layer[to], layer[ready[at]] + 1);
      if (--waiting[to] === 0) ready.push(to);
    }
  // An item without dependencies goes into the layer just above its first reader.
  for (let i = 0; i < count; ++i)
    if (isSource[i] && outgoing[i].length > 0)
      layer[i] = Math.min(...outgoing[i].map((to) => layer[to])) - 1;
  return layer;
}

/** Cells for the items and for the bends of long edges, and the path of cells of each edge. */
function cellsOf(items, edges, layer) {
  const cells = items.map((item, i) => ({width: item.width, height: item.height, layer: layer[i],
    above: [], below: [], x: 0}));
  const long = edges.reduce((sum, [from, to]) => sum + layer[to] - layer[from] - 1, 0);
  const paths = edges.map(([from, to]) => {
    const path = [from];
    for (let at = layer[from] + 1; at < layer[to] && long <= kMaxBends; ++at) {
      path.push(cells.length);
      cells.push({width: 6, height: 0, layer: at, above: [], below: [], x: 0});
    }
    path.push(to);
    for (let i = 1; i < path.length; ++i) {
      cells[path[i - 1]].below.push(path[i]);
      cells[path[i]].above.push(path[i - 1]);
    }
    return path;
  });
  return {cells, paths};
}

function orderRows(cells, rows) {
  const rank = new Array(cells.length);
  const number = (row) => row.forEach((cell, i) => { rank[cell] = i; });
  rows.forEach(number);
  for (let sweep = 0; sweep < kSweeps; ++sweep) {
    const isDown = sweep % 2 === 0;
    for (const row of isDown ? rows : [...rows].reverse()) {
      const middle = new Map(row.map((cell) => {
        const near = isDown ? cells[cell].above : cells[cell].below;
        const sum = near.reduce((total, other) => total + rank[other], 0);
        return [cell, near.length > 0 ? sum / near.length : rank[cell]];
      }));
      row.sort((a, b) => middle.get(a) - middle.get(b) || rank[a] - rank[b]);
      number(row);
    }
  }
}

function placeRows(cells, rows, gap) {
  for (const row of rows) {
    let x = 0;
    for (const cell of row) {
      cells[cell].x = x + cells[cell].width / 2;
      x += cells[cell].width + gap;
    }
  }
  for (let sweep = 0; sweep < kSweeps; ++sweep) {
    const isDown = sweep % 2 === 0;
    for (const row of isDown ? rows : [...rows].reverse()) {
      const wanted = row.map((cell) => {
        const near = isDown ? cells[cell].above : cells[cell].below;
        const sum = near.reduce((total, other) => total + cells[other].x, 0);
        return near.length > 0 ? sum / near.length : cells[cell].x;
      });
      const gaps = row.slice(1).map((cell, i) =>
        (cells[cell].width + cells[row[i]].width) / 2 + gap);
      const positions = spread(wanted, gaps);
      row.forEach((cell, i) => { cells[cell].x = positions[i]; });
    }
  }
}

/** Edges bend only between layers: within a layer they run straight down, next to its boxes. */
function bendsOf(path, cells, left) {
  const bends = [{x: null, y: cells[path[0]].bottom}];  // below where the edge begins
  for (const cell of path.slice(1, -1))
    bends.push({x: cells[cell].x - left, y: cells[cell].top},
      {x: cells[cell].x - left, y: cells[cell].bottom});
  bends.push({x: null, y: cells[path[path.length - 1]].top});
  return bends;
}

/**
 * The positions of `items` ({width, height}), the bends of edges (x is null directly below or above
 * their ends), and the total size.
 */
function layered(items, edges, gap, layerGap) {
  const {cells, paths} = cellsOf(items, edges, layersOf(items.length, edges));
  const rows = [];
  cells.forEach((cell, i) => (rows[cell.layer] = rows[cell.layer] || []).push(i));
  for (let i = 0; i < rows.length; ++i) rows[i] = rows[i] || [];
  orderRows(cells, rows);
  placeRows(cells, rows, gap);
  let y = 0;
  for (const row of rows) {
    const height = Math.max(0, ...row.map((cell) => cells[cell].height));
    for (const cell of row)
      Object.assign(cells[cell], {y: y + height / 2, top: y, bottom: y + height});
    y += height + layerGap;
  }
  const left = Math.min(0, ...cells.map((cell) => cell.x - cell.width / 2));
  const right = Math.max(0, ...cells.map((cell) => cell.x + cell.width / 2));
  return {
    width: right - left,
    height: Math.max(0, y - layerGap),
    boxes: items.map((item, i) => ({x: cells[i].x - left - item.width / 2,
      y: cells[i].y - item.height / 2})),
    bends: paths.map((path) => bendsOf(path, cells, left)),
  };
}

/** The connected components, as lists of items. */
function componentsOf(count, edges) {
  const root = [...new Array(count).keys()];
  const find = (i) => {
    while (root[i] !== i) i = root[i] = root[root[i]];
    return i;
  };
  for (const [from, to] of edges) root[find(from)] = find(to);
  const components = new Map();
  for (let i = 0; i < count; ++i) {
    if (!components.has(find(i))) components.set(find(i), []);
    components.get(find(i)).push(i);
  }
  return [...components.values()];
}

/** Lays out each connected component, and puts them in rows with the aspect ratio of a page. */
function arranged(items, edges, gap, layerGap) {
  const components = componentsOf(items.length, edges).map((component) => {
    const index = new Map(component.map((item, i) => [item, i]));
    const own = edges.map((edge, i) => ({edge, i})).filter(({edge}) => index.has(edge[0]));
    const layout = layered(component.map((item) => items[item]),
      own.map(({edge}) => [index.get(edge[0]), index.get(edge[1])]), gap, layerGap);
    return {component, own, layout};
  });
  const area = components.reduce((sum, {layout}) =>
    sum + (layout.width + gap) * (layout.height + layerGap), 0);
  const widest = Math.max(Math.sqrt(area * 1.8), ...components.map(({layout}) => layout.width));
  const result = {width: 0, height: 0, boxes: [], bends: []};
  if (components.length > 3) components.sort((a, b) => b.layout.height - a.layout.height);
  let x = 0, y = 0, rowHeight = 0;
  for (const {component, own, layout} of components) {
    if (x > 0 && x + layout.width > widest) {
      x = 0;
      y += rowHeight + layerGap;
      rowHeight = 0;
    }
    const moved = (point) => ({x: point.x === null ? null : point.x + x, y: point.y + y});
    component.forEach((item, i) => { result.boxes[item] = moved(layout.boxes[i]); });
    own.forEach(({i}, at) => { result.bends[i] = layout.bends[at].map(moved); });
    result.width = Math.max(result.width, x + layout.width);
    result.height = Math.max(result.height, y + layout.height);
    x += layout.width + gap * 1.5;
    rowHeight = Math.max(rowHeight, layout.height);
  }
  return result;
}
