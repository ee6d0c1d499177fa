// The page: its initial contents, and the reactions to clicks.

function summary(data) {
  const {totals} = data;
  const figure = (name, value, note) => html('div', {class: 'figure'},
    html('div', {class: 'value'}, value), html('div', {class: 'name'}, name),
    html('div', {class: 'quiet'}, note));
  const measured = data.kernels.filter((kernel) => kernel.measured);
  const sum = measured.reduce((total, kernel) => total + kernel.measured.median_us, 0);
  return [
    html('h1', {}, data.graph, html('span', {class: 'kind'}, `${data.target} (${data.arch})`)),
    data.sizes.length > 0 ? html('p', {class: 'sizes'}, data.sizes.join(', ')) : null,
    html('div', {class: 'figures'},
      figure(totals.launches === 1 ? 'launch' : 'launches', totals.launches.toLocaleString('en'),
        `${totals.unfused_launches.toLocaleString('en')} unfused; ${counted(data.recorded_ops, 'recorded op')}`),
      figure('moved', bytesText(totals.bytes), `${timesText(totals.bytes, totals.minimal_bytes)}; ` +
        `${bytesText(totals.unfused_bytes)} unfused`),
      figure('predicted', timeText(totals.predicted_us), 'as one CUDA Graph, with a cold L2'),
      figure('measured', measured.length > 0 ? timeText(sum) : '—',
        measured.length > 0 ? `sum of medians; ${data.measured_on}` :
          'no times: nothing has run on a device')),
  ];
}

function kernelTable(model, show) {
  if (model.kernels.length === 0) return [];
  const columns = ['kernel', 'kind', 'moved', '× minimum', 'predicted', 'measured', 'registers',
    'occupancy', 'in flight per SM'];
  const or = (value, text) => (value === null ? '–' : text(value));
  const most = 500;
  const rows = model.kernels.slice(0, most).map((kernel) => {
    const bytes = kernel.bytes_read + kernel.bytes_written;
    const cells = [kernel.kind, bytesText(bytes),
      kernel.minimal_bytes > 0 ? digits(bytes / kernel.minimal_bytes) : '–',
      kernel.kind === 'opaque' ? '–' : timeText(kernel.predicted_us),
      or(kernel.measured, (measured) => timeText(measured.median_us)),
      or(kernel.registers, String), or(kernel.occupancy, (value) => `${digits(100 * value)} %`),
      or(kernel.bytes_in_flight, bytesText)];
    return html('tr', {'data-kernel': kernel.name}, html('td', {}, show.link(kernel.name)),
      cells.map((cell, i) => html('td', {class: i > 0 ? 'number' : null}, cell)));
  });
  return [
    html('h2', {}, 'Kernels'),
    html('div', {class: 'wide'}, html('table', {},
      html('thead', {}, html('tr', {}, columns.map((name, i) =>
        html('th', {scope: 'col', class: i > 1 ? 'number' : null}, name)))),
      html('tbody', {}, rows))),
    model.kernels.length > most ? html('p', {class: 'quiet'}, `and ${model.kernels.length - most} more`) : null,
    model.data.why_not_compiled ? html('p', {class: 'quiet'}, 'Registers, occupancy and loads in ' +
      `flight are not known: ${model.data.why_not_compiled}`) : null,
  ];
}

function rooflinePart(model, show) {
  if (rooflineDots(model).length === 0) return [];
  const isMeasured = model.kernels.some((kernel) => kernel.measured);
  return [
    html('h2', {}, 'Roofline'),
    html('p', {class: 'quiet'}, 'One dot per kernel: hollow as predicted' +
      (isMeasured ? ', filled as measured' : ' (nothing was measured)') +
      '. The lines are the limits of memory bandwidth and instruction issue of ' +
      `${model.data.target}. A kernel below them has launch overhead ` +
      `(${timeText(model.data.roofs.launch_us)}) or too few bytes in flight. Kernels that compute ` +
      'nothing are at the left edge.'),
    drawRoofline(model, show),
  ];
}

function boundariesPart(data, show) {
  if (data.boundaries.length === 0) return [];
  const most = 1000;
  return [html('h2', {}, 'Boundaries'), reasonList(data.boundaries.slice(0, most), show),
    data.boundaries.length > most ?
      html('p', {class: 'quiet'}, `and ${data.boundaries.length - most} more`) : null];
}

function guardsPart(data) {
  if (data.guards.length === 0) return [];
  return [html('h2', {}, 'These kernels also serve other sizes that satisfy'),
    html('ul', {class: 'guards'}, data.guards.map((guard) => html('li', {}, guard)))];
}

class Page {
  constructor(data) {
    this.data = data;
    this.model = modelOf(data);
    this.scale = null;
    this.marked = null;
    this.element = (id) => document.getElementById(id);
  }

  link(name) {
    const kernel = this.model.kernelOf.get(name);
    if (kernel === undefined) return html('span', {}, name);
    return html('button', {type: 'button', class: 'link', onclick: () => this.kernel(kernel)}, name);
  }

  /** Highlights the clicked elements; the highlight survives redrawing. */
  mark(selector) {
    this.marked = selector;
    for (const element of document.querySelectorAll('.chosen-item'))
      element.classList.remove('chosen-item');
    if (selector)
      for (const element of document.querySelectorAll(selector)) element.classList.add('chosen-item');
  }

  showDetails(...contents) {
    const detail = this.element('detail');
    detail.replaceChildren();
    fill(detail, {}, contents);
    detail.scrollTop = 0;
  }

  kernel(index) {
    this.showKernelDetails(index);
    history.replaceState(null, '', `#kernel=${encodeURIComponent(this.model.kernels[index].name)}`);
  }

  showKernelDetails(index) {
    const kernel = this.model.kernels[index];
    this.mark(`[data-kernel="${CSS.escape(kernel.name)}"]`);
    this.showDetails(kernelDetails(this.model, kernel, this));
  }

  node(index, kernel) {
    this.mark(`[data-node="${index}"]`);
    this.showDetails(nodeDetails(this.model, index, this),
      kernel ? kernelDetails(this.model, kernel, this) : null);
  }

  edge(edge, names) {
    this.mark(`[data-from="${CSS.escape(names(edge.from))}"][data-to="${CSS.escape(names(edge.to))}"]`);
    this.showDetails(edgeDetails(edge, names, this));
  }

  draw() {
    const picture = drawGraph(this.model, this, (kernel) => {
      kernel.isOpen = !kernel.isOpen;
      this.draw();
    });
    const graph = this.element('graph');
    const width = Number(picture.getAttribute('width'));
    if (this.scale === null)
      this.scale = Math.min(1, Math.max(0.85, (graph.clientWidth - 2) / width));
    picture.style.width = `${width * this.scale}px`;
    picture.style.height = `${Number(picture.getAttribute('height')) * this.scale}px`;
    graph.replaceChildren(picture);
    this.mark(this.marked);
  }

  /** Scrolls to the name of the first kernel, or, if it is wide, to its first value. */
  lookAtFirst() {
    const graph = this.element('graph');
    const name = graph.querySelector('.kernel > .name');
    if (!name) return;
    const first = graph.querySelector('.kernel .item') || name;
    const left = (element) => element.getBoundingClientRect().left;
    const toName = left(name) - left(graph) - 30;
    const isFar = left(first) - left(name) > graph.clientWidth * 0.6;
    graph.scrollLeft += isFar ? left(first) - left(graph) - graph.clientWidth / 3 : toName;
    graph.scrollTop = 0;
  }

  zoom(factor) {
    this.scale = Math.min(2, Math.max(0.1, this.scale * factor));
    this.draw();
  }

  fit() {
    this.scale = 1;
    this.draw();
    const graph = this.element('graph');
    const picture = graph.firstElementChild;
    this.scale = Math.min(1, (graph.clientWidth - 2) / picture.getAttribute('width'),
      (graph.clientHeight - 2) / picture.getAttribute('height'));
    this.draw();
  }

  openAll(isOpen) {
    for (const kernel of this.model.kernels) kernel.isOpen = isOpen;
    this.draw();
    this.lookAtFirst();
  }

  addTools() {
    const tool = (text, label, act) =>
      html('button', {type: 'button', 'aria-label': label, title: label, onclick: act}, text);
    const mayOpen = this.model.count <= kMaxOpenable;
    fill(this.element('tools'), {}, [
      tool('−', 'smaller', () => this.zoom(1 / 1.25)), tool('+', 'larger', () => this.zoom(1.25)),
      tool('fit', 'fit into the frame', () => this.fit()),
      mayOpen ? tool('open all', 'show the contents of all kernels', () => this.openAll(true)) : null,
      tool('close all', 'show kernels only', () => this.openAll(false))]);
    const notes = ['Click a kernel for its source, or a line for its reason.'];
    if (this.model.count > kMaxInitiallyOpen)
      notes.push(`There are ${counted(this.model.count, 'value')}, so kernels are closed: click + to open one.`);
    const free = freeValues(this.data).length;
    if (free > 60) notes.push(`${free - 60} views outside of kernels are not drawn.`);
    notes.push('Dashed: views, which move no data. Dotted: simplified away.');
    this.element('graph-note').textContent = notes.join(' ');
  }

  start() {
    fill(this.element('summary'), {}, [summary(this.data)]);
    this.addTools();
    this.draw();
    this.lookAtFirst();
    fill(this.element('kernels'), {}, [kernelTable(this.model, this)]);
    fill(this.element('roofline'), {}, [rooflinePart(this.model, this)]);
    fill(this.element('boundaries'), {}, [boundariesPart(this.data, this)]);
    fill(this.element('guards'), {}, [guardsPart(this.data)]);
    const wanted = decodeURIComponent((location.hash.match(/^#kernel=(.*)$/) || [])[1] || '');
    const first = this.model.kernelOf.get(wanted);
    if (this.model.kernels.length > 0) this.showKernelDetails(first === undefined ? 0 : first);
    else this.showDetails(html('h2', {}, 'Nothing is launched'), html('p', {},
      'Every output is a view of an input, or of another output: no kernel is needed.'));
  }
}

new Page(JSON.parse(document.getElementById('data').textContent)).start();
