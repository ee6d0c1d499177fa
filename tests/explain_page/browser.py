"""Chromium without a window, driven over a pipe in the DevTools protocol, with nothing but Python."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ('chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'chrome')
SECONDS = 60  # that anything may take


def find_browser():
    """The program to run, or None. SINTER_CHROMIUM has the first word."""
    named = os.environ.get('SINTER_CHROMIUM')
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of one browser. `complaints` has the lines of its console, and its exceptions."""

    def __init__(self, program):
        # The browser's own children may still write there.
        self.profile = tempfile.TemporaryDirectory(prefix='sinter-browser-',
                                                   ignore_cleanup_errors=True)
        read_here, self.write_there = os.pipe()
        self.read_there, write_here = os.pipe()

        def place_pipes():
            # The browser reads commands at 3 and answers at 4.
            taken, given = os.dup(read_here), os.dup(write_here)
            os.dup2(taken, 3)
            os.dup2(given, 4)

        self.process = subprocess.Popen(
            [program, '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-dev-shm-usage', f'--user-data-dir={self.profile.name}',
             '--remote-debugging-pipe', 'about:blank'],
            preexec_fn=place_pipes, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_here)
        os.close(write_here)
        self.unread = b''
        self.number = 0
        self.events = []
        self.complaints = []
        self.session = None
        target = self.ask('Target.createTarget', url='about:blank')['targetId']
        self.session = self.ask('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.ask(domain + '.enable')

    def close(self):
        try:
            self.session = None
            self.ask('Browser.close')
            self.process.wait(SECONDS)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.write_there)
        os.close(self.read_there)
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def receive(self):
        end = time.monotonic() + SECONDS
        while b'\0' not in self.unread:
            if not select.select([self.read_there], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f'the browser has said nothing for {SECONDS} s')
            part = os.read(self.read_there, 1 << 16)
            if not part:
                raise EOFError(f'the browser has ended, with {self.process.wait()}')
            self.unread += part
        message, self.unread = self.unread.split(b'\0', 1)
        return json.loads(message)

    def note(self, message):
        """Keeps what a message says that answers nothing."""
        method, values = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            details = values['exceptionDetails']
            self.complaints.append(details.get('exception', {}).get('description', details['text']))
        elif method == 'Runtime.consoleAPICalled':
            self.complaints.append(' '.join(str(a.get('value', a.get('description')))
                                            for a in values['args']))
        elif method == 'Log.entryAdded':
            self.complaints.append(values['entry']['text'])
        elif method == 'Network.requestWillBeSent' and \
                values['request']['url'].startswith(('http', 'ws')):
            self.complaints.append('asked for ' + values['request']['url'])
        else:
            self.events.append(method)

    def ask(self, method, **values):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': values}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.write_there, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]["message"]}')
                return answer['result']
            self.note(answer)

    def open(self, url):
        # From an empty page on, or only the part after # would change.
        for address in ('about:blank', url):
            self.events.clear()
            self.ask('Page.navigate', url=address)
            while 'Page.loadEventFired' not in self.events:
                self.note(self.receive())

    def value(self, expression):
        """The value of an expression of JavaScript. Its exceptions are complaints."""
        answer = self.ask('Runtime.evaluate', expression=expression, returnByValue=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(f'{expression}: {answer["result"].get("description")}')
        return answer['result'].get('value')

    def press(self, selector):
        """Clicks into the middle of what a selector finds, as a mouse does."""
        place = self.value(f'''(() => {{
            const element = document.querySelector({json.dumps(selector)});
            if (!element) return null;
            element.scrollIntoView({{block: 'center', inline: 'center'}});
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()''')
        if place is None:
            raise LookupError(f'there is no {selector} to press')
        for kind in ('mousePressed', 'mouseReleased'):
            self.ask('Input.dispatchMouseEvent', type=kind, x=place[0], y=place[1], button='left',
                     clickCount=1)

    def key(self, name, code, text=''):
        for kind in ('keyDown', 'keyUp'):
            self.ask('Input.dispatchKeyEvent', type=kind, key=name, code=name, text=text,
                     windowsVirtualKeyCode=code)
