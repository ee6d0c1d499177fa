// The graph as SVG: kernels as boxes, and the arrays between them as lines that can be clicked.

function curve(points) {
  let path = `M${points[0].x},${points[0].y}`;
  for (let i = 1; i < points.length; ++i) {
    const [a, b] = [points[i - 1], points[i]];
    if (a.x === b.x) {
      path += `L${b.x},${b.y}`;
      continue;
    }
    const middle = (a.y + b.y) / 2;
    path += `C${a.x},${middle} ${b.x},${middle} ${b.x},${b.y}`;
  }
  return path;
}

/**
 * The points of each edge, and its middle between the last two layers, where there are no boxes.
 * Edges leave and reach a box next to each other, ordered by the position of their other end.
 */
function portsOf(edges, layout, items) {
  const ports = edges.map(() => ({}));
  const spreadAlong = (end, other) => {
    const byBox = new Map();
    edges.forEach((edge, i) => {
      if (!byBox.has(edge[end])) byBox.set(edge[end], []);
      byBox.get(edge[end]).push(i);
    });
    for (const [box, own] of byBox) {
      const towards = (i) => {
        const bends = layout.bends[i];
        const next = bends.length > 2 ? (end === 0 ? bends[1] : bends[bends.length - 2]) : null;
        return next ? next.x : layout.boxes[edges[i][other]].x + items[edges[i][other]].width / 2;
      };
      own.sort((a, b) => towards(a) - towards(b));
      const {x, y} = layout.boxes[box];
      const step = Math.min(24, items[box].width * 0.7 / own.length);
      own.forEach((i, at) => {
        ports[i][end] = {x: x + items[box].width / 2 + (at - (own.length - 1) / 2) * step,
          y: end === 0 ? y + items[box].height : y};
      });
    }
  };
  spreadAlong(0, 1);
  spreadAlong(1, 0);
  return edges.map((edge, i) => {
    const bends = layout.bends[i].map((bend, at) =>
      ({x: bend.x === null ? ports[i][at === 0 ? 0 : 1].x : bend.x, y: bend.y}));
    const points = [ports[i][0], ...bends, ports[i][1]];
    const [a, b] = bends.slice(-2);
    return {
      points: points.filter((point, at) =>
        at === 0 || point.x !== points[at - 1].x || point.y !== points[at - 1].y),
      gap: {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2},
    };
  });
}

function textLines(lines, x, y, classes) {
  return lines.map((line, i) =>
    svg('text', {x, y: y + i * kLine, class: classes[Math.min(i, classes.length - 1)]}, line));
}

function itemElement(item, box, show) {
  const element = svg('g', {class: `item ${item.kind} ${item.role}` + (item.isResult ? ' result' : ''),
    transform: `translate(${box.x},${box.y})`, 'data-node': item.node},
  svg('rect', {width: item.width, height: item.height, rx: item.kind === 'source' ? 11 : 5}),
  textLines(item.lines, item.kind === 'source' ? 12 : 9, item.kind === 'source' ? 15 : 18,
    ['name', 'type', 'out']));
  if (item.node === null) return element;
  const node = show.data.nodes[item.node];
  element.append(svg('title', {}, `${node.text}\n${typeText(node)} · ${node.place}`));
  element.addEventListener('click', (event) => {
    event.stopPropagation();
    show.node(item.node, item.kernel);
  });
  return element;
}

function valuesElement(group, x, y, kernel, show) {
  const element = svg('g', {transform: `translate(${x},${y})`});
  for (const {points} of portsOf(group.edges, group.layout, group.items))
    element.append(svg('path', {class: 'wire', d: curve(points), 'marker-end': 'url(#tip)'}));
  group.items.forEach((item, i) =>
    element.append(itemElement({...item, kernel}, group.layout.boxes[i], show)));
  return element;
}

/** Lines between boxes. A click on a line shows why the two boxes are separate. */
function edgesElement(edges, layout, items, names, show, taken) {
  const element = svg('g', {});
  const lines = portsOf(edges.map((edge) => [edge.from, edge.to]), layout, items);
  edges.forEach((edge, i) => {
    const {points, gap: at} = lines[i];
    const text = edgeText(edge);
    const width = text ? text.length * letterWidth + 14 : 16;
    const box = {x: at.x - width / 2, y: at.y - 10, width, height: 20};
    const fits = !taken.some((other) => box.x < other.x + other.width && other.x < box.x + box.width &&
      box.y < other.y + other.height && other.y < box.y + box.height);
    if (fits) taken.push(box);
    const isPlain = edge.uses.length > 0;
    const line = pressable(svg('g', {class: isPlain ? 'edge' : 'edge apart',
      'data-from': names(edge.from), 'data-to': names(edge.to)},
    svg('title', {}, edge.reasons.map((boundary) => boundary.reason).join('\n') || 'click for details'),
    svg('path', {class: 'reach', d: curve(points)}),
    svg('path', {class: 'line', d: curve(points), 'marker-end': isPlain ? 'url(#tip)' : null}),
    fits ? [svg('rect', {...box, rx: 10}),
      svg('text', {x: at.x, y: at.y + 4, 'text-anchor': 'middle'}, text || '?')] : []),
    `why ${names(edge.from)} and ${names(edge.to)} are separate`, () => show.edge(edge, names));
    element.append(line);
  });
  return element;
}

function sectionsElement(box, show, taken) {
  const element = svg('g', {transform: `translate(${kPadding},${kHead + kPadding / 2})`});
  element.append(edgesElement(box.edges, box.layout, box.children,
    (i) => box.children[i].section.name, show, taken));
  box.children.forEach((child, i) => {
    const {x, y} = box.layout.boxes[i];
    element.append(svg('g', {class: 'section', transform: `translate(${x},${y})`},
      svg('rect', {width: child.width, height: child.height, rx: 7}),
      textLines(child.heads, kPadding, 19, ['name', 'facts']),
      valuesElement(child.group, kPadding, kHead, box.kernel, show)));
  });
  return element;
}

function kernelElement(box, place, show, toggle) {
  const {kernel} = box;
  const choose = () => show.kernel(kernel.index);
  const frame = pressable(
    svg('rect', {class: 'box', width: box.width, height: box.height, rx: 9}),
    `kernel ${kernel.name}, ${headText(kernel)}`, choose);
  const element = svg('g', {class: `kernel ${kernel.kind}`, 'data-kernel': kernel.name,
    transform: `translate(${place.x},${place.y})`, onclick: choose}, frame,
  svg('rect', {class: 'stripe', x: 4, y: 8, width: 4, height: box.height - 16, rx: 2}),
  textLines(box.heads, kPadding, 20, ['name', 'facts']));
  if (box.group)
    element.append(valuesElement(box.group, (box.width - box.group.width) / 2, kHead + kPadding / 2,
      kernel, show));
  if (box.children.length > 0) element.append(sectionsElement(box, show, []));
  if (kernel.valueCount > 0) {
    const x = box.width - 26;
    element.append(pressable(svg('g', {class: 'toggle'},
      svg('rect', {x, y: 10, width: 18, height: 18, rx: 4}),
      svg('text', {x: x + 9, y: 23.5, 'text-anchor': 'middle'}, kernel.isOpen ? '−' : '+')),
    `${kernel.isOpen ? 'close' : 'open'} ${kernel.name}`, () => toggle(kernel)));
  }
  return element;
}

function tip() {
  return svg('defs', {}, svg('marker', {id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4,
    markerWidth: 8, markerHeight: 8, orient: 'auto', markerUnits: 'userSpaceOnUse'},
  svg('path', {d: 'M0,0.5 L8,4 L0,7.5 z'})));
}

/** The whole drawing at its natural size. */
function drawGraph(model, show, toggle) {
  const scene = layoutGraph(model);
  const margin = 16;
  const picture = svg('svg', {width: scene.width + 2 * margin, height: scene.height + 2 * margin,
    viewBox: `${-margin} ${-margin} ${scene.width + 2 * margin} ${scene.height + 2 * margin}`}, tip());
  const items = [...scene.kernels, ...scene.free];
  scene.kernels.forEach((box, i) =>
    picture.append(kernelElement(box, scene.layout.boxes[i], show, toggle)));
  picture.append(edgesElement(scene.edges, scene.layout, items,
    (i) => model.kernels[i].name, show, []));
  scene.free.forEach((item, i) =>
    picture.append(itemElement(item, scene.layout.boxes[scene.kernels.length + i], show)));
  return picture;
}
