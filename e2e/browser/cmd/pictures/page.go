package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// patience is how long the page may take to show something. A round of the
// demonstration takes 46 s, and every second one loses changes.
const patience = 3 * time.Minute

// page is the tab of the live page.
type page struct {
	ctx  context.Context
	save func(name string, shot []byte) error
}

// run takes steps, each within patience, and names the one that failed.
func (p *page) run(steps ...step) error {
	for _, s := range steps {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		err := chromedp.Run(ctx, s.action)
		cancel()
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s: %w", s.what, err)
		if errors.Is(err, context.DeadlineExceeded) {
			var shown string
			_ = chromedp.Run(p.ctx, chromedp.Evaluate("document.body.innerText", &shown)) // what it shows is only for the error
			err = fmt.Errorf("%w; the page shows:\n%s", err, shown)
		}
		return err
	}
	return nil
}

// step is what a person does, or waits for.
type step struct {
	what   string
	action chromedp.Action
}

// until waits for an expression to be true.
func until(what, expression string) step {
	return step{"waiting for " + what, poll("!!("+expression+")", nil, 0)}
}

// click presses the mouse where the first element of an expression is seen, until the
// page did what it is pressed for.
func click(what, expression, effect string) step {
	return press(what, fmt.Sprintf(`(e => { const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })(%s)`, expression), effect)
}

// press presses the mouse where an expression says, again where nothing came of it: a row
// moves while it is pressed.
func press(what, expression, effect string) step {
	return step{"clicking " + what, chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			var at []float64
			// It is not there, or not yet, while the expression fails.
			there := poll("(() => { try { return "+expression+" } catch { return null } })()", &at, 0)
			if err := there.Do(ctx); err != nil {
				return err
			}
			if len(at) != 2 {
				return fmt.Errorf("no place: %v", at)
			}
			if err := chromedp.MouseClickXY(at[0], at[1]).Do(ctx); err != nil {
				return err
			}
			err := poll("!!("+effect+")", nil, 2*time.Second).Do(ctx)
			if !errors.Is(err, chromedp.ErrPollingTimeout) {
				return err
			}
		}
	})}
}

// poll waits for an expression to be true, without a limit where it is 0.
func poll(expression string, value any, limit time.Duration) chromedp.Action {
	return chromedp.Poll(expression, value, chromedp.WithPollingTimeout(limit), chromedp.WithPollingInterval(50*time.Millisecond))
}

// containing is the first element with a selector whose text begins with a word.
func containing(selector, word string) string {
	return fmt.Sprintf("[...document.querySelectorAll(%s)].find(e => e.innerText.trim().startsWith(%s))", strconv.Quote(selector), strconv.Quote(word))
}

// shot writes a picture. The mouse and the focus are nowhere: neither is to be seen.
func (p *page) shot(name string) step {
	return step{name, chromedp.ActionFunc(func(ctx context.Context) error {
		if err := input.DispatchMouseEvent(input.MouseMoved, 0, 0).Do(ctx); err != nil {
			return err
		}
		// Two frames later the page is drawn without them.
		blur := chromedp.Evaluate("document.activeElement?.blur(), 1", nil)
		frames := chromedp.Evaluate("window.drawn = 0, requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = 1 })), 1", nil)
		var png []byte
		if err := chromedp.Run(ctx, blur, frames, chromedp.Poll("window.drawn", nil), chromedp.CaptureScreenshot(&png)); err != nil {
			return err
		}
		return p.save(name, png)
	})}
}
