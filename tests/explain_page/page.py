"""Opens the pages of explanations in a folder and presses what can be pressed. Answers 77 where there
is no browser, and 1 with what is wrong."""

import json
import pathlib
import sys

sys.dont_write_bytecode = True  # beside the sources
from browser import Browser, find_browser  # noqa: E402

TEXTS_OVERLAP = '''(() => {
    const texts = [...document.querySelectorAll('#roofline text, #graph .edge text, #graph .item text')];
    const boxes = texts.map((text) => ({box: text.getBoundingClientRect(), of: text.textContent,
                                        drawing: text.ownerSVGElement}));
    const found = [];
    for (const [i, a] of boxes.entries())
        for (const b of boxes.slice(i + 1))
            if (a.drawing === b.drawing && a.box.left < b.box.right - 1 && b.box.left < a.box.right - 1 &&
                a.box.top < b.box.bottom - 4 && b.box.top < a.box.bottom - 4)
                found.push(a.of + ' and ' + b.of);
    return found.slice(0, 5).join('; ');
})()'''


class Pages:
    def __init__(self, browser, folder):
        self.browser = browser
        self.folder = folder
        self.offences = []

    def expect(self, holds, what):
        if not holds:
            self.offences.append(f'{self.name}: {what}')

    def open(self, name, fragment=''):
        self.name = name
        self.browser.complaints.clear()
        self.browser.open((self.folder / f'{name}.html').as_uri() + fragment)

    def data(self):
        return json.loads((self.folder / f'{self.name}.json').read_text())

    def text(self, selector):
        return self.browser.value(
            f'(document.querySelector({json.dumps(selector)}) || {{}}).textContent') or ''

    def fits(self):
        return self.browser.value('''(() => {
            const graph = document.getElementById('graph');
            return graph.scrollWidth <= graph.clientWidth && graph.scrollHeight <= graph.clientHeight + 1;
        })()''')

    def overlap(self):
        found = self.browser.value(TEXTS_OVERLAP)
        self.expect(found == '', f'texts overlap: {found}')

    def count(self, selector):
        return self.browser.value(f'document.querySelectorAll({json.dumps(selector)}).length')

    def close(self):
        # An answer after all that was pressed, so that what it led to has been told.
        self.browser.value('0')
        for complaint in self.browser.complaints:
            self.expect(False, f'the browser says: {complaint}')


def test_kernels(pages):
    pages.open('mlp')
    data = pages.data()
    for kernel in data['kernels']:
        pages.browser.press(f'.kernel[data-kernel="{kernel["name"]}"] > .name')
        pages.expect(pages.text('#detail .source') == kernel['source'],
                     f'pressing {kernel["name"]} does not show its source')
        pages.expect(kernel['schedule'] in pages.text('#detail .facts'),
                     f'pressing {kernel["name"]} does not show its schedule')
    pages.expect('not measured' in pages.text('#detail'), 'nothing says that nothing was measured')
    pages.expect('null' not in pages.browser.value('document.body.innerText'), 'null is shown')
    last = data['kernels'][-1]['name']
    pages.expect(pages.browser.value('location.hash') == f'#kernel={last}', 'its place has no name')
    pages.expect(pages.count('#roofline .dot') == 2, 'not every kernel has a dot')
    pages.overlap()
    pages.close()


def test_boundaries(pages):
    pages.open('mlp')
    for boundary in pages.data()['boundaries']:
        pages.browser.press(f'.edge[data-from="{boundary["producer"]}"]'
                            f'[data-to="{boundary["consumer"]}"] text')
        shown = pages.text('#detail')
        pages.expect('Why these are separate' in shown and boundary['reason'] in shown,
                     f'pressing a line does not say: {boundary["reason"]}')
        pages.expect(boundary['reason'] in pages.text('#boundaries'),
                     f'the list does not say: {boundary["reason"]}')
    pages.close()


def test_keys(pages):
    pages.open('mlp')
    second = pages.data()['kernels'][1]
    box = f'.kernel[data-kernel="{second["name"]}"] > .box'
    pages.browser.value(f'document.querySelector({json.dumps(box)}).focus()')
    pages.browser.key('Enter', 13, '\r')
    pages.expect(pages.text('#detail .source') == second['source'], 'Enter does not press a kernel')
    pages.browser.value('document.querySelector(".edge").focus()')
    pages.browser.key(' ', 32, ' ')
    pages.expect('Why these are separate' in pages.text('#detail'), 'Space does not press a line')
    pages.expect(pages.count('[role=button] [role=button]') == 0, 'buttons lie in one another')
    for what in ('.kernel > .box', '.kernel > .toggle', '.edge', '.dot'):
        pages.expect(pages.count(f'{what}:not([role=button][tabindex="0"][aria-label])') == 0,
                     f'{what} is no button for who does not see it')
    pages.close()


def test_places(pages):
    pages.name = 'mlp'
    for kernel in pages.data()['kernels']:
        pages.open('mlp', f'#kernel={kernel["name"]}')
        pages.expect(pages.text('#detail .source') == kernel['source'],
                     f'the place of {kernel["name"]} does not show its source')
        pages.close()


def test_measured(pages):
    pages.open('measured')
    for kernel in pages.data()['kernels']:
        name, candidates = kernel['name'], kernel['candidates']
        pages.browser.press(f'.kernel[data-kernel="{name}"] > .name')
        pages.expect('not measured' not in pages.text('#detail'), f'no time of {name} is shown')
        pages.expect(pages.count(f'.dot.measured[data-kernel="{name}"]') == 1,
                     f'the time of {name} is no dot of the roofline')
        shown = pages.browser.value('''[...document.querySelectorAll('#detail .candidate')].map(
            (row) => [row.querySelector('.label span').textContent, row.classList.contains('chosen'),
                      (row.querySelector('.fill') || row).getBoundingClientRect().width])''')
        pages.expect([row[:2] for row in shown] ==
                     [[candidate['schedule'], candidate['chosen']] for candidate in candidates],
                     f'the candidates of {name} are not those that were timed')
        longest = max(candidate['median_us'] for candidate in candidates)
        widest = max(row[2] for row in shown)
        pages.expect(all(abs(row[2] / widest - candidate['median_us'] / longest) < 0.02
                         for row, candidate in zip(shown, candidates)),
                     f'the bars of {name} are not as long as its times')
    pages.expect('—' not in pages.text('#summary'), 'the sum of times is not shown')
    pages.close()


def test_sizes(pages):
    pages.open('norm')
    width = 'document.querySelector("#graph > svg").getBoundingClientRect().width'
    at_first = pages.browser.value(width)
    pages.browser.press('button[aria-label="larger"]')
    pages.expect(pages.browser.value(width) > at_first, 'larger is not larger')
    for _ in range(2):
        pages.browser.press('button[aria-label="smaller"]')
    pages.expect(pages.browser.value(width) < at_first, 'smaller is not smaller')
    pages.browser.press('button[aria-label="fit into the frame"]')
    pages.expect(pages.fits(), 'what fits into the frame does not')
    pages.close()


def test_values(pages):
    pages.open('norm')
    nodes = pages.data()['nodes']
    values = [i for i, node in enumerate(nodes) if node['groups']]
    pages.expect(all(pages.count(f'.item[data-node="{i}"]') > 0 for i in values),
                 'not every value that was recorded is drawn')
    pages.browser.press(f'.item[data-node="{values[0]}"] .name')
    pages.expect(nodes[values[0]]['text'] in pages.text('#detail .value-details'),
                 'pressing a value does not show it')
    pages.overlap()
    drawn = pages.count('.item')
    pages.browser.press('.kernel .toggle')
    pages.expect(pages.count('.item') < drawn, 'a kernel cannot be closed')
    pages.close()


def test_crossing_lines(pages):
    pages.open('crossing')
    apart = {(boundary['producer'], boundary['consumer']) for boundary in pages.data()['boundaries']}
    pages.expect(pages.count('.edge') == len(apart), 'not every line is drawn')
    pages.expect(pages.count('.edge text') >= len(apart) / 2, 'lines have no names')
    pages.overlap()
    pages.close()


def test_copies(pages):
    pages.open('layouts')
    pages.expect('copy into weight' in pages.text('#graph'), 'a copy for an update is not drawn')
    pages.browser.press('.item.source.stored .name')  # which no recorded value is
    pages.close()


def test_nothing_to_do(pages):
    pages.open('view')
    pages.expect('Nothing is launched' in pages.text('#detail'), 'nothing says that nothing is launched')
    pages.expect(pages.text('#roofline') == '', 'there is a roofline of nothing')
    pages.browser.press('.item .name')
    pages.expect('a view' in pages.text('#detail'), 'an output that is a view is not explained')
    pages.close()


def test_many_values(pages):
    pages.open('thousand')
    pages.expect(pages.count('.item') == 0, 'a thousand values are drawn at once')
    pages.expect('1,000 values' in pages.text('#graph-note'), 'nothing says why kernels are closed')
    pages.browser.press('button[aria-label="show the contents of all kernels"]')
    pages.expect(pages.count('.item.computed') >= 1000, 'not every value is drawn')
    pages.browser.press('button[aria-label="fit into the frame"]')
    pages.expect(pages.fits(), 'what fits into the frame does not')
    pages.close()


def test_names_stay_text(pages):
    pages.open('hostile')
    pages.browser.press('.kernel > .name')
    pages.browser.press('.item .name')
    pages.expect(pages.count('img, b, title:not(svg title) + script + script') == 0,
                 'a name became markup')
    pages.expect("complain('title')" in pages.text('h1'), 'a name was changed')
    pages.close()


def test_narrow_and_dark(pages):
    pages.browser.ask('Emulation.setDeviceMetricsOverride', width=400, height=800,
                      deviceScaleFactor=1, mobile=False)
    pages.browser.ask('Emulation.setEmulatedMedia',
                      features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    pages.open('mlp')
    pages.expect(pages.browser.value('document.documentElement.scrollWidth <= innerWidth'),
                 'the page is wider than a narrow window')
    pages.expect(pages.browser.value(
        'getComputedStyle(document.body).backgroundColor') == 'rgb(20, 23, 27)', 'it is not dark')
    pages.close()


def main():
    program = find_browser()
    if not program:
        print('there is no Chromium: tools/setup installs it, or SINTER_CHROMIUM names it')
        return 77
    with Browser(program) as browser:
        pages = Pages(browser, pathlib.Path(sys.argv[1]))
        browser.ask('Emulation.setDeviceMetricsOverride', width=1500, height=1000,
                    deviceScaleFactor=1, mobile=False)
        for test in (test_kernels, test_boundaries, test_keys, test_places, test_measured,
                     test_sizes, test_values, test_crossing_lines, test_copies, test_nothing_to_do,
                     test_many_values, test_names_stay_text, test_narrow_and_dark):
            try:
                test(pages)
            except (LookupError, RuntimeError) as failure:
                pages.expect(False, str(failure))
                pages.close()
    print('\n'.join(pages.offences))
    return 1 if pages.offences else 0


if __name__ == '__main__':
    sys.exit(main())
