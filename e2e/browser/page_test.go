package browser

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/listwatch/listwatch/e2e/browser/internal/launch"
)

// patience is how long a condition may take on a loaded machine.
const patience = 30 * time.Second

// chromium is the path of the browser.
var chromium string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if chromium, err = launch.Path(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// page is one tab.
type page struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string // what the console reported as an error
}

// look is how a tab is to look.
type look struct {
	width, height int64
	dark          bool
}

// open opens a URL in a browser of its own.
func open(t *testing.T, url string, l look) *page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1440, 900), chromedp.WSURLReadTimeout(2*patience))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	// Without a word for events that the client cannot decode: Chromium has more than it knows.
	return tab(t, ctx, url, l, chromedp.WithErrorf(func(string, ...any) {}))
}

// beside opens a URL in another tab of the same browser: the two share a worker.
func (p *page) beside(t *testing.T, url string) *page {
	t.Helper()
	q := tab(t, p.ctx, url, look{})
	q.front()
	return q
}

func tab(t *testing.T, parent context.Context, url string, l look, options ...chromedp.ContextOption) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, p.heard)
	// The first context that runs is the tab's whole life: it has no limit.
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if l.width == 0 {
		l.width, l.height = 1440, 900
	}
	actions := []chromedp.Action{log.Enable(), chromedp.EmulateViewport(l.width, l.height)}
	if l.dark {
		actions = append(actions, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	}
	p.run(append(actions, chromedp.Navigate(url))...)
	t.Cleanup(func() {
		if t.Failed() {
			p.shot("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
	})
	return p
}

// heard keeps exceptions and violations of the Content-Security-Policy. A request that
// failed is no fault: servers die in these tests.
func (p *page) heard(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if strings.Contains(e.Entry.Text, "Content Security Policy") {
			p.faults = append(p.faults, e.Entry.Text)
		}
	}
}

// sound fails the test where the page threw or broke its policy.
func (p *page) sound() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		p.t.Errorf("the page: %s", f)
	}
}

func (p *page) run(actions ...chromedp.Action) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// front lets the tab be the one that is seen.
func (p *page) front() {
	p.t.Helper()
	p.run(cdp.BringToFront())
}

// js evaluates an expression and decodes its value.
func (p *page) js(expression string, value any) {
	p.t.Helper()
	p.run(chromedp.Evaluate(expression, value))
}

// text is what an element shows, or "" if it is not there.
func (p *page) text(selector string) string {
	p.t.Helper()
	var s string
	p.js(fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", quote(selector)), &s)
	return s
}

// until waits for an expression to be true.
func (p *page) until(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Poll("!!("+expression+")", nil, chromedp.WithPollingTimeout(0), chromedp.WithPollingInterval(50*time.Millisecond))); err != nil {
		var shown string
		if errors.Is(err, context.DeadlineExceeded) {
			shown = p.text("body")
		}
		p.t.Fatalf("%s: %v; the page shows:\n%s", expression, err, shown)
	}
}

// shows waits for a text within an element.
func (p *page) shows(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("[...document.querySelectorAll(%s)].some(e => e.innerText.includes(%s))", quote(selector), quote(text)))
}

// without waits until no element with this selector shows the text.
func (p *page) without(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("![...document.querySelectorAll(%s)].some(e => e.innerText.includes(%s))", quote(selector), quote(text)))
}

// press presses keys one after the other, as a person does: a key that the page takes
// does not reach a field.
func (p *page) press(keys ...string) {
	p.t.Helper()
	named := map[string]string{"Enter": kb.Enter, "Escape": kb.Escape, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight, "ArrowDown": kb.ArrowDown, "ArrowUp": kb.ArrowUp, "PageDown": kb.PageDown, "End": kb.End, "Home": kb.Home}
	for _, k := range keys {
		if code, ok := named[k]; ok {
			p.run(chromedp.KeyEvent(code))
			continue
		}
		p.run(input.DispatchKeyEvent(input.KeyDown).WithKey(k).WithText(k), input.DispatchKeyEvent(input.KeyUp).WithKey(k))
	}
}

// enter types a text into what has the focus.
func (p *page) enter(text string) {
	p.t.Helper()
	p.run(input.InsertText(text))
}

// click clicks an element, which may be drawn again while it is looked for.
func (p *page) click(selector string) {
	p.t.Helper()
	p.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		for range 5 {
			var drawn *cdproto.Error
			if err = chromedp.Click(selector, chromedp.ByQuery).Do(ctx); !errors.As(err, &drawn) || drawn.Code != -32000 {
				return err
			}
		}
		return err
	}))
}

// shot writes a screenshot to the folder SCREENSHOTS, if that is set.
func (p *page) shot(name string) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	var png []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)); err != nil {
		p.t.Logf("screenshot %s: %v", name, err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Log(err)
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
