// Boxes in layers: each below all that it depends on (longest path), ordered within a layer by the
// middle of its neighbours (Sugiyama, Tagawa and Toda), and moved as near to them as boxes allow.

const kSweeps = 8;
const kMostBends = 4000;  // beyond, long edges run straight through what lies between

/** Places that rise by at least `gaps` and lie as near to `wanted` as that allows (least squares). */
function spread(wanted, gaps) {
  const blocks = [];  // of neighbours that touch: those that wanted to be nearer than the gap
  let offset = 0;
  wanted.forEach((place, i) => {
    offset += i > 0 ? gaps[i - 1] : 0;
    blocks.push({sum: place - offset, count: 1});
    for (let last = blocks.length - 1; last > 0; --last) {
      const [a, b] = [blocks[last - 1], blocks[last]];
      if (a.sum / a.count <= b.sum / b.count) break;
      blocks.splice(last - 1, 2, {sum: a.sum + b.sum, count: a.count + b.count});
    }
  });
  const places = [];
  offset = 0;
  for (const block of blocks)
    for (let i = 0; i < block.count; ++i) {
      offset += places.length > 0 ? gaps[places.length - 1] : 0;
      places.push(block.sum / block.count + offset);
    }
  return places;
}

/** The layer of each item, from 0 on; `edges` lead from item to item, and never in a circle. */
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
  // What depends on nothing lies just above its first reader.
  for (let i = 0; i < count; ++i)
    if (isSource[i] && outgoing[i].length > 0)
      layer[i] = Math.min(...outgoing[i].map((to) => layer[to])) - 1;
  return layer;
}

/** The items and the bends of long edges as cells, and which cells each edge goes through. */
function cellsOf(items, edges, layer) {
  const cells = items.map((item, i) => ({width: item.width, height: item.height, layer: layer[i],
    above: [], below: [], x: 0}));
  const long = edges.reduce((sum, [from, to]) => sum + layer[to] - layer[from] - 1, 0);
  const paths = edges.map(([from, to]) => {
    const path = [from];
    for (let at = layer[from] + 1; at < layer[to] && long <= kMostBends; ++at) {
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
  const place = new Array(cells.length);
  const number = (row) => row.forEach((cell, i) => { place[cell] = i; });
  rows.forEach(number);
  for (let sweep = 0; sweep < kSweeps; ++sweep) {
    const isDown = sweep % 2 === 0;
    for (const row of isDown ? rows : [...rows].reverse()) {
      const middle = new Map(row.map((cell) => {
        const near = isDown ? cells[cell].above : cells[cell].below;
        const sum = near.reduce((total, other) => total + place[other], 0);
        return [cell, near.length > 0 ? sum / near.length : place[cell]];
      }));
      row.sort((a, b) => middle.get(a) - middle.get(b) || place[a] - place[b]);
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
      const places = spread(wanted, gaps);
      row.forEach((cell, i) => { cells[cell].x = places[i]; });
    }
  }
}

/** Edges turn only between layers: within one they run straight down beside its boxes. */
function bendsOf(path, cells, left) {
  const bends = [{x: null, y: cells[path[0]].bottom}];  // below where the edge begins
  for (const cell of path.slice(1, -1))
    bends.push({x: cells[cell].x - left, y: cells[cell].top},
      {x: cells[cell].x - left, y: cells[cell].bottom});
  bends.push({x: null, y: cells[path[path.length - 1]].top});
  return bends;
}

/**
 * Places of `items` ({width, height}), where edges bend (x is null right below or above their ends),
 * and the size of all.
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

/** What hangs together, as lists of items. */
function piecesOf(count, edges) {
  const root = [...new Array(count).keys()];
  const find = (i) => {
    while (root[i] !== i) i = root[i] = root[root[i]];
    return i;
  };
  for (const [from, to] of edges) root[find(from)] = find(to);
  const pieces = new Map();
  for (let i = 0; i < count; ++i) {
    if (!pieces.has(find(i))) pieces.set(find(i), []);
    pieces.get(find(i)).push(i);
  }
  return [...pieces.values()];
}

/** The same of pieces that hang together, side by side in rows of a page's shape. */
function arranged(items, edges, gap, layerGap) {
  const pieces = piecesOf(items.length, edges).map((piece) => {
    const place = new Map(piece.map((item, i) => [item, i]));
    const own = edges.map((edge, i) => ({edge, i})).filter(({edge}) => place.has(edge[0]));
    const layout = layered(piece.map((item) => items[item]),
      own.map(({edge}) => [place.get(edge[0]), place.get(edge[1])]), gap, layerGap);
    return {piece, own, layout};
  });
  const area = pieces.reduce((sum, {layout}) =>
    sum + (layout.width + gap) * (layout.height + layerGap), 0);
  const widest = Math.max(Math.sqrt(area * 1.8), ...pieces.map(({layout}) => layout.width));
  const result = {width: 0, height: 0, boxes: [], bends: []};
  if (pieces.length > 3) pieces.sort((a, b) => b.layout.height - a.layout.height);
  let x = 0, y = 0, rowHeight = 0;
  for (const {piece, own, layout} of pieces) {
    if (x > 0 && x + layout.width > widest) {
      x = 0;
      y += rowHeight + layerGap;
      rowHeight = 0;
    }
    const moved = (point) => ({x: point.x === null ? null : point.x + x, y: point.y + y});
    piece.forEach((item, i) => { result.boxes[item] = moved(layout.boxes[i]); });
    own.forEach(({i}, at) => { result.bends[i] = layout.bends[at].map(moved); });
    result.width = Math.max(result.width, x + layout.width);
    result.height = Math.max(result.height, y + layout.height);
    x += layout.width + gap * 1.5;
    rowHeight = Math.max(rowHeight, layout.height);
  }
  return result;
}
