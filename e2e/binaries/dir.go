package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const modulePath = "github.com/listwatch/listwatch/e2e"

// Dir returns the folder that holds the program: LISTWATCH_E2E_BIN_DIR if that
// is set, else listwatch/e2e/PIN-KEY in os.UserCacheDir. PIN is the folder that
// pins the program's version. KEY changes with every byte of the go.mod and
// go.sum there, with the Go version and with the platform, and not with what
// pins other programs: those stay built. Dir does not create the folder.
func Dir(ctx context.Context, p Program) (string, error) {
	if dir := os.Getenv("LISTWATCH_E2E_BIN_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	pin, _, _, err := p.module()
	if err != nil {
		return "", err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder (set LISTWATCH_E2E_BIN_DIR): %w", err)
	}
	root, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	goVersion, err := goOutput(ctx, root, "env", "GOVERSION")
	if err != nil {
		return "", fmt.Errorf("find the Go version: %w", err)
	}
	sum, err := hash(filepath.Join(root, pin))
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%s-%s-%s-%s", pin, goVersion, runtime.GOOS, runtime.GOARCH, sum)
	return filepath.Join(base, "listwatch", "e2e", name), nil
}

// hash returns what stands for the bytes of a pinning folder's go.mod and go.sum.
func hash(folder string) (string, error) {
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return "", fmt.Errorf("read what pins the versions: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// moduleDir returns the folder of the e2e module's source, from whichever
// module the caller runs in, as long as that one requires or is e2e.
func moduleDir(ctx context.Context) (string, error) {
	dir, err := goOutput(ctx, "", "list", "-m", "-f", "{{.Dir}}", modulePath)
	if err != nil {
		return "", fmt.Errorf("find the source of %s: %w", modulePath, err)
	}
	return dir, nil
}

// goOutput runs the go command in dir and returns what it printed, trimmed.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, tail(stderr.String(), 5))
	}
	return strings.TrimSpace(string(out)), nil
}

// lock takes an exclusive lock on the file at path, waiting for another
// process that holds it until ctx ends, and returns what releases it. The
// kernel releases it if this process dies.
func lock(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for said := false; ; {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, err
		}
		if !said {
			said = true
			fmt.Fprintf(progress, "waiting for another process that builds under %s\n", path)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			file.Close()
			return nil, context.Cause(ctx)
		}
	}
}
