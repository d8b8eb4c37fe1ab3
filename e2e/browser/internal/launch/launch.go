// Package launch starts what the tests and commands of this module need: a headless
// Chromium, and listwatch as a process that serves the live page.
package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"
)

// Path returns the path of the browser.
func Path() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium: apt-get install chromium (or, as root, make chromium)")
}

// Chromium starts a browser. The context is of its first tab; end closes the browser.
func Chromium(ctx context.Context) (tab context.Context, end func(), err error) {
	path, err := Path()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute))
	alloc, cancel1 := chromedp.NewExecAllocator(ctx, options...)
	// Without a word for events that the client cannot decode: Chromium has more than it knows.
	tab, cancel2 := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {}))
	end = func() { cancel2(); cancel1() }
	if err := chromedp.Run(tab); err != nil {
		end()
		return nil, nil, err
	}
	return tab, end, nil
}

// Program builds listwatch from the tree into a folder, and returns its path.
func Program(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "listwatch")
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/listwatch/listwatch").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the module: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/listwatch")
	build.Dir, build.Stderr = strings.TrimSpace(string(module)), os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building listwatch: %w", err)
	}
	return program, nil
}

// Page is listwatch as a process that serves the live page.
type Page struct {
	URL   string // without a path
	Token string
	PID   int
	cmd   *exec.Cmd
	wg    sync.WaitGroup
}

// Serve starts the program, and returns when it printed the link of its page.
func Serve(ctx context.Context, program string, args ...string) (*Page, error) {
	p := &Page{cmd: exec.CommandContext(ctx, program, args...)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.PID = p.cmd.Process.Pid
	var said []string
	lines := bufio.NewScanner(stderr)
	for p.Token == "" && lines.Scan() {
		said = append(said, lines.Text())
		if _, link, ok := strings.Cut(lines.Text(), "http://"); ok {
			address, token, _ := strings.Cut(link, "/#token=")
			p.URL, p.Token = "http://"+address, token
		}
	}
	if p.Token == "" {
		err := p.cmd.Wait()
		return nil, fmt.Errorf("listwatch %s printed no link (%v):\n%s", args[0], err, strings.Join(said, "\n"))
	}
	p.wg.Go(func() { _, _ = io.Copy(os.Stderr, stderr) })
	return p, nil
}

// Close ends the process.
func (p *Page) Close() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	p.wg.Wait()
	_ = p.cmd.Wait()
}
