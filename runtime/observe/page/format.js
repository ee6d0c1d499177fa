'use strict';
// Formats figures as text, and creates elements with attributes and contents. Data only becomes
// text nodes and attributes; none of it is parsed as HTML.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined) element.append(child);
  return element;
}

const html = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

/** Makes `element` a button: `act` runs on a click, and on Enter or Space. */
function pressable(element, label, act) {
  element.setAttribute('role', 'button');
  element.setAttribute('tabindex', '0');
  if (label) element.setAttribute('aria-label', label);
  element.addEventListener('click', (event) => {
    event.stopPropagation();
    act(event);
  });
  element.addEventListener('keydown', (event) => {
    if (event.target !== element || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    event.stopPropagation();
    act(event);
  });
  return element;
}

/** `count` significant digits without trailing zeros: 24, 1.12, 0.0456. */
function digits(value, count = 3) {
  if (value === 0) return '0';
  const text = Number(value).toPrecision(count);
  return String(Number(text));
}

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; ++unit) bytes /= 1024;
  return `${digits(bytes, 4)} ${units[unit]}`;
}

function timeText(microseconds) {
  if (microseconds >= 1e6) return `${digits(microseconds / 1e6)} s`;
  if (microseconds >= 1e3) return `${digits(microseconds / 1e3)} ms`;
  return `${digits(microseconds)} µs`;
}

/** 3.5e12 as `3.5 T`. */
function scaledText(value) {
  const units = ['', ' k', ' M', ' G', ' T', ' P'];
  let unit = 0;
  for (; value >= 1000 && unit + 1 < units.length; ++unit) value /= 1000;
  return digits(value) + units[unit];
}

function counted(number, what) {
  const ending = what.endsWith('ch') ? 'es' : 's';
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : ending}`;
}

function timesText(bytes, minimum) {
  return minimum > 0 ? `${digits(bytes / minimum)} × the minimum` : 'nothing to move';
}

/** `text`, cut to `most` characters with an ellipsis. */
function shortened(text, most) {
  return text.length > most ? text.slice(0, most - 1) + '…' : text;
}
