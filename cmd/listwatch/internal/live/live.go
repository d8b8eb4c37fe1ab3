package live

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"

	tea "charm.land/bubbletea/v2"
)

// live is the screen of --live. It is an encoder that prints nothing: what is
// encoded goes to the board, which is drawn four times a second.
type live struct {
	program *tea.Program
	done    chan struct{}   // closed when the terminal is given back
	rows    []record.Record // since the last flush
}

// drawEvery is how often the screen is drawn, also when nothing happens: ages grow,
// and marks fade.
const drawEvery = 250 * time.Millisecond

// Source is what is shown.
type Source struct {
	Clusters []connect.Cluster
	Monitor  *monitor.Monitor
}

// TakeTerminal begins --live. Messages go to the screen then, and to stderr only if that
// is not the terminal. A key that ends the run calls stop.
func TakeTerminal(p *cli.Program, ctx context.Context, in io.Reader, o print.Format, src Source, t *messages.Writer, stop func(error)) (*live, error) {
	if !cli.IsTerminal(p.Stdout) || !cli.IsTerminal(in) {
		return nil, exit.Usage("--live needs a terminal on stdin and stdout")
	}
	o.Events = false // a mark says it
	b := newBoard(&o)
	b.places, b.fresh = placesOf(src.Clusters), src.Monitor.Freshness
	l := startLive(ctx, &screen{board: b, source: src, stop: stop}, in, p.Stdout)
	signals.BeforeLeaving(ctx, l.kill)
	if cli.IsTerminal(p.Stderr) {
		t.To(l)
	} else {
		t.To(io.MultiWriter(p.Stderr, l))
	}
	return l, nil
}

// startLive takes over the terminal; its keys end the watch by m.stop.
func startLive(ctx context.Context, m *screen, in io.Reader, out io.Writer) *live {
	l := &live{done: make(chan struct{})}
	l.program = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(20))
	m.send = l.program.Send
	ended := make(chan struct{})
	m.reads.Go(func() { signalled(ended, m.send) })
	go func() {
		_, err := l.program.Run()
		close(ended)
		m.close()
		if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
			err = nil // it was us
		}
		if err != nil {
			m.stop(exit.Failed(err))
		}
		close(l.done)
	}()
	return l
}

// Close gives the terminal back.
func (l *live) Close() {
	l.program.Quit()
	<-l.done
}

// kill is close where the process is about to end, and waits for nobody.
func (l *live) kill() {
	l.program.Kill()
	select {
	case <-l.done:
	case <-time.After(signals.Graceful / 2):
	}
}

func (l *live) Encode(b []byte, r *record.Record) ([]byte, error) {
	l.rows = append(l.rows, *r)
	return b, nil
}

func (l *live) Flush(b []byte) []byte {
	if len(l.rows) > 0 {
		l.program.Send(l.rows)
		l.rows = nil
	}
	return b
}

func (l *live) End(b []byte) ([]byte, error) { return l.Flush(b), nil }

// Write takes the lines that would have gone to stderr.
func (l *live) Write(b []byte) (int, error) {
	for text := range strings.Lines(string(b)) {
		l.program.Send(said(strings.TrimSpace(text)))
	}
	return len(b), nil
}

// said is a line for stderr, tick a moment, step the time for more work, suspend asks to
// stop the process for a while.
type (
	said    string
	tick    time.Time
	step    struct{}
	suspend struct{}
)

// screen joins a board to a terminal.
type screen struct {
	*board
	stop          func(error)
	width, height int
	working       bool // a step is on its way

	source  Source
	send    func(tea.Msg)      // to Update; not called by it
	reads   sync.WaitGroup     // of Events and signals
	reading *detail            // whose Events are read
	stopped context.CancelFunc // ends that; nil = none are read
}

func again() tea.Cmd {
	return tea.Tick(drawEvery, func(t time.Time) tea.Msg { return tick(t) })
}

func (s *screen) Init() tea.Cmd { return again() }

// Update takes in a message. Work that takes long is done in steps, with other messages
// between them.
func (s *screen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	cmd := s.take(m)
	s.read()
	if _, ok := m.(step); ok {
		s.working = false
	}
	if s.working || !s.work() {
		return s, cmd
	}
	s.working = true
	return s, tea.Batch(cmd, func() tea.Msg { return step{} })
}

// read has the Events of the object that is shown read, as long as it is shown.
func (s *screen) read() {
	d := s.detail
	if d == s.reading {
		return
	}
	if s.stopped != nil {
		s.stopped()
	}
	s.reading, s.stopped = d, nil
	if d == nil {
		return
	}
	i := slices.IndexFunc(s.source.Clusters, func(c connect.Cluster) bool { return c.Name == d.row.key.cluster })
	if i < 0 {
		return
	}
	col, err := eventsOf(s.source.Clusters[i].Client, &d.row.last)
	if err != nil {
		d.problem = printable.Line(err.Error())
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stopped = cancel
	s.reads.Go(func() {
		followEvents(ctx, col, func(n news) {
			n.of = d
			s.send(n)
		})
	})
}

// close ends what read began.
func (s *screen) close() {
	if s.stopped != nil {
		s.stopped()
	}
	s.reads.Wait()
}

func (s *screen) take(m tea.Msg) tea.Cmd {
	switch m := m.(type) {
	case tick:
		return again()
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case []record.Record:
		for i := range m {
			s.apply(&m[i])
		}
	case suspend:
		return tea.Exec(stopped{}, func(error) tea.Msg { return tea.ClearScreen() })
	case news:
		m.of.hear(m)
	case said:
		s.note(string(m), time.Now())
	case tea.PasteMsg:
		s.press("", m.Content)
	case tea.KeyPressMsg:
		switch name := m.String(); {
		case name == "ctrl+c":
			s.stop(signals.Signal{Sig: syscall.SIGINT})
		case name == "ctrl+z":
			stopJob()
		case s.press(name, m.Text):
			s.stop(exit.ErrAskedFor)
		}
	}
	return nil
}

func (s *screen) View() tea.View {
	v := tea.NewView(strings.Join(s.draw(s.width, s.height, time.Now()), "\n"))
	v.AltScreen = true
	return v
}

func (*live) ForPeople() {}
