// The roofline of all kernels, and the tuning table of one kernel.

const kPlot = {width: 760, height: 380, left: 78, right: 22, top: 18, bottom: 52};

/** A dot for each known time of a kernel: instructions per byte, and achieved bytes per second. */
function rooflineDots(model) {
  const dots = [];
  for (const kernel of model.kernels) {
    const bytes = kernel.bytes_read + kernel.bytes_written;
    if (bytes === 0 || kernel.kind === 'opaque') continue;
    const add = (microseconds, isMeasured) => {
      if (microseconds > 0)
        dots.push({kernel, isMeasured, perByte: kernel.instructions / bytes,
          bytesPerSecond: bytes / (microseconds * 1e-6)});
    };
    add(kernel.predicted_us, false);
    if (kernel.measured) add(kernel.measured.median_us, true);
  }
  return dots;
}

const decades = (low, high) => {
  const result = [];
  for (let at = Math.ceil(Math.log10(low) - 1e-9); at <= Math.log10(high) + 1e-9; ++at)
    result.push(10 ** at);
  return result;
};

const kOverlapDistance = 9;  // dots within this distance share one label

/** Groups of overlapping dots. */
function overlappingDots(placed) {
  const groups = [];
  for (const one of placed) {
    const group = groups.find(([first]) =>
      Math.hypot(first.x - one.x, first.y - one.y) < kOverlapDistance);
    if (group) group.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** Labels of the dots that have free space around them. Other dots show their name when clicked. */
function labelsOf(placed, taken) {
  const labels = [];
  for (const group of overlappingDots(placed)) {
    const {x, y, dot} = group[0];
    const text = shortened(dot.kernel.name, 26) + (group.length > 1 ? ` +${group.length - 1}` : '');
    const width = text.length * letterWidth;
    const fits = (box) => box.x > kPlot.left && box.x + box.width < kPlot.width - kPlot.right &&
      box.y > kPlot.top && box.y + box.height < kPlot.height - kPlot.bottom &&
      !taken.some((other) => box.x < other.x + other.width && other.x < box.x + box.width &&
        box.y < other.y + other.height && other.y < box.y + box.height);
    const places = [[10, -8], [-10 - width, -8], [10, 6], [10, -22], [-10 - width, 6],
      [-width / 2, 10], [-width / 2, -26]];
    const box = places.map(([dx, dy]) => ({x: x + dx, y: y + dy, width, height: 16})).find(fits);
    if (!box) continue;
    taken.push(box);
    labels.push(svg('text', {x: box.x, y: box.y + 12, class: 'name'}, text));
  }
  return labels;
}

/** Instructions per byte against instructions per second, with the roofs of the target. */
function drawRoofline(model, show) {
  const {roofs} = model.data;
  const dots = rooflineDots(model);
  const ridge = roofs.instructions_per_second / roofs.bytes_per_second;
  const some = dots.map((dot) => dot.perByte).filter((value) => value > 0);
  const lowX = 10 ** Math.floor(Math.log10(Math.min(0.1, ...some)));
  const highX = 10 ** Math.ceil(Math.log10(Math.max(ridge * 3, ...some)));
  const at = (dot) => Math.max(dot.perByte, lowX);  // kernels without instructions: at the edge
  const heights = dots.map((dot) => at(dot) * dot.bytesPerSecond);
  const highY = 10 ** Math.ceil(Math.log10(roofs.instructions_per_second * 1.2));
  const lowY = 10 ** Math.floor(Math.log10(Math.min(lowX * roofs.bytes_per_second, ...heights)));
  const along = (value, low, high, from, to) =>
    from + (to - from) * Math.log(value / low) / Math.log(high / low);
  const x = (value) => along(value, lowX, highX, kPlot.left, kPlot.width - kPlot.right);
  const y = (value) => along(value, lowY, highY, kPlot.height - kPlot.bottom, kPlot.top);
  const chart = svg('svg', {class: 'chart', viewBox: `0 0 ${kPlot.width} ${kPlot.height}`,
    role: 'group', 'aria-label': 'Roofline: instructions per second over instructions per byte'});
  for (const value of decades(lowX, highX))
    chart.append(svg('path', {class: 'grid', d: `M${x(value)},${kPlot.top}V${y(lowY)}`}),
      svg('text', {x: x(value), y: y(lowY) + 18, 'text-anchor': 'middle'}, digits(value)));
  for (const value of decades(lowY, highY))
    chart.append(svg('path', {class: 'grid', d: `M${kPlot.left},${y(value)}H${x(highX)}`}),
      svg('text', {x: kPlot.left - 8, y: y(value) + 4, 'text-anchor': 'end'}, scaledText(value)));
  const roof = [[lowX, lowX * roofs.bytes_per_second], [ridge, roofs.instructions_per_second],
    [highX, roofs.instructions_per_second]];
  chart.append(svg('path', {class: 'roof',
    d: 'M' + roof.map(([a, b]) => `${x(a)},${y(b)}`).join('L')}));
  const slope = Math.atan2(y(roof[1][1]) - y(roof[0][1]), x(roof[1][0]) - x(roof[0][0]));
  const middle = {x: (x(lowX) + x(ridge)) / 2, y: (y(roof[0][1]) + y(roof[1][1])) / 2};
  chart.append(
    svg('text', {class: 'axis', 'text-anchor': 'middle',
      transform: `translate(${middle.x},${middle.y - 8}) rotate(${slope * 180 / Math.PI})`},
    `memory ${scaledText(roofs.bytes_per_second)}B/s`),
    svg('text', {class: 'axis', x: x(highX) - 6, y: y(roofs.instructions_per_second) - 7,
      'text-anchor': 'end'}, `issue ${scaledText(roofs.instructions_per_second)}/s`),
    svg('text', {class: 'axis', x: (x(lowX) + x(highX)) / 2, y: kPlot.height - 10,
      'text-anchor': 'middle'}, 'instructions per byte (of single threads, without loads and stores)'),
    svg('text', {class: 'axis', 'text-anchor': 'middle',
      transform: `translate(18,${(kPlot.top + y(lowY)) / 2}) rotate(-90)`}, 'instructions per second'));
  // Labels must not cover the line of the roof.
  const taken = [];
  for (let i = 0; i <= 60; ++i) {
    const value = lowX * (highX / lowX) ** (i / 60);
    const height = Math.min(value * roofs.bytes_per_second, roofs.instructions_per_second);
    taken.push({x: x(value) - 2, y: y(height) - 14, width: 4, height: 18});
  }
  const placed = dots.map((dot) => ({dot, x: x(at(dot)), y: y(at(dot) * dot.bytesPerSecond)}));
  for (const {x: left, y: top} of placed)
    taken.push({x: left - 6, y: top - 6, width: 12, height: 12});
  for (const {dot, x: left, y: top} of placed) {
    const text = `${dot.kernel.name}: ${digits(dot.perByte)} instructions per byte, ` +
      `${scaledText(dot.bytesPerSecond)}B/s ${dot.isMeasured ? 'measured' : 'predicted'}`;
    chart.append(pressable(svg('g', {class: `dot ${dot.isMeasured ? 'measured' : 'predicted'}`,
      'data-kernel': dot.kernel.name},
    svg('title', {}, text), svg('circle', {cx: left, cy: top, r: 5.5})), text,
    () => show.kernel(dot.kernel.index)));
  }
  chart.append(...labelsOf(placed.filter(({dot}) => dot.isMeasured || !dot.kernel.measured), taken));
  return chart;
}

/** A bar per timed candidate; other candidates appear without a bar. */
function drawTuning(kernel) {
  const timed = kernel.candidates.filter((candidate) => candidate.median_us !== null);
  const longest = Math.max(...timed.map((candidate) => candidate.upper_quartile_us));
  const share = (value) => `${100 * value / longest}%`;
  const rows = kernel.candidates.map((candidate, i) => {
    const role = (i === 0 ? 'default' : '') + (candidate.chosen && timed.length > 0 ?
      `${i === 0 ? ', ' : ''}chosen` : '');
    const isTimed = candidate.median_us !== null;
    return html('li', {class: candidate.chosen ? 'candidate chosen' : 'candidate'},
      html('div', {class: 'label'}, html('span', {}, candidate.schedule),
        role ? html('em', {}, role) : null),
      isTimed ? html('div', {class: 'track'},
        html('span', {class: 'fill', style: `width:${share(candidate.median_us)}`}),
        html('span', {class: 'range', style: `left:${share(candidate.lower_quartile_us)};width:` +
          share(candidate.upper_quartile_us - candidate.lower_quartile_us)})) : null,
      isTimed ? html('span', {class: 'value'}, `${timeText(candidate.median_us)}, ` +
        `${digits(candidate.gigabytes_per_second)} GB/s`) : null,
      candidate.problem ? html('span', {class: 'problem'}, candidate.problem) : null);
  });
  return html('div', {class: 'tuning'},
    html('p', {class: 'quiet'}, timed.length > 0 ?
      `Median and quartiles of one launch with a cold L2. ${kernel.tuning}` : kernel.tuning),
    html('ol', {}, rows));
}
