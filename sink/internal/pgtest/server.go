// Package pgtest runs a PostgreSQL of the tests' own.
package pgtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL on a socket in a folder of its own. It is for one goroutine.
type Server struct {
	bin, dir string
	as       *syscall.Credential // whom it runs as; nil = as we do
	process  *os.Process
	ended    chan struct{}
}

// Start makes a cluster of databases and starts the server, which Close stops. PostgreSQL
// refuses to run as root, so that it then runs as the user postgres, or nobody.
func Start() (*Server, error) {
	s := new(Server)
	if err := s.init(); err != nil {
		os.RemoveAll(s.dir)
		return nil, err
	}
	return s, nil
}

// Main is TestMain of a package whose tests share a server, which it puts into to.
func Main(m interface{ Run() int }, to **Server) {
	flag.Parse()
	s, err := Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	*to = s
	code := m.Run()
	s.Close()
	os.Exit(code)
}

// Close stops the server at once and removes its folder.
func (s *Server) Close() {
	s.Stop(syscall.SIGQUIT)
	os.RemoveAll(s.dir)
}

// Dir returns the folder of the socket.
func (s *Server) Dir() string { return s.dir }

func (s *Server) init() error {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return errors.New("there is no PostgreSQL: apt-get install postgresql")
	}
	bin, err := filepath.EvalSymlinks(found[len(found)-1])
	if err != nil {
		return err
	}
	s.bin = filepath.Dir(bin)
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil { // a socket's path must be short
		return err
	}
	if os.Getuid() == 0 {
		if s.as, err = unprivileged(); err != nil {
			return err
		}
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	initdb := s.Command("initdb", "-D", s.dir+"/data", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.Start()
}

func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// Command returns a program of PostgreSQL, such as pg_dump.
func (s *Server) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// Start starts the server after Stop, and waits until it takes connections. After a SIGKILL
// it refuses to start until the last of its former processes has noticed.
func (s *Server) Start() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		cmd := s.Command("postgres", "-D", s.dir+"/data", "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "fsync=off")
		if err := cmd.Start(); err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() { defer close(ended); cmd.Wait() }()
		s.process, s.ended = cmd.Process, ended
		for running := true; running; {
			c, err := pgx.Connect(ctx, s.URL())
			if err == nil {
				return c.Close(ctx)
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ended:
				running = false
			}
			if ctx.Err() != nil {
				return fmt.Errorf("PostgreSQL does not start: %w", err)
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("PostgreSQL ends as soon as it is started")
		}
	}
}

// Stop sends a signal to the server, and waits until it has ended.
func (s *Server) Stop(sig syscall.Signal) {
	s.process.Signal(sig)
	<-s.ended
}

// URL returns the DSN of the database.
func (s *Server) URL() string { return "host=" + s.dir + " user=postgres dbname=postgres" }
