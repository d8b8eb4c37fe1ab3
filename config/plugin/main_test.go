package plugin

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
)

// The test binary is also the plugin: where role is set it prints what say holds,
// and does what else role says.
const (
	role = "PLUGIN_TEST_ROLE"
	say  = "PLUGIN_TEST_SAY"
)

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	if err := act(os.Getenv(role)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(100)
	}
}

// seen is what the plugin saw; it travels in the token.
type seen struct {
	Info     string
	Args     []string
	Env      map[string]string
	Stdin    string // what it read
	Terminal bool
}

func act(as string) error {
	switch as {
	case "print":
	case "print on":
		for b := make([]byte, 64<<10); ; {
			if _, err := os.Stdout.Write(b); err != nil {
				return err
			}
		}
	case "fail":
		fmt.Fprint(os.Stderr, "log in first\n")
		fmt.Print(os.Getenv(say))
		os.Exit(7)
	case "file": // holds a token
		b, err := os.ReadFile(os.Getenv(say))
		if err != nil {
			return err
		}
		runs, err := os.OpenFile(os.Getenv("PLUGIN_TEST_RUNS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer runs.Close()
		if _, err := runs.WriteString("x"); err != nil {
			return err
		}
		_, err = fmt.Printf(`{"kind":"ExecCredential","apiVersion":%q,"status":{"token":%q}}`, v1, b)
		return err
	case "look":
		s := seen{Info: os.Getenv(execInfo), Args: os.Args[1:], Terminal: isTerminal(os.Stdin), Env: map[string]string{}}
		for _, name := range []string{"PLUGIN_TEST_OWN", "PLUGIN_TEST_BOTH", "PLUGIN_TEST_ADDED"} {
			s.Env[name] = os.Getenv(name)
		}
		if !s.Terminal {
			b, err := io.ReadAll(os.Stdin)
			if err != nil {
				return err
			}
			s.Stdin = string(b)
		}
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_, err = fmt.Printf(`{"kind":"ExecCredential","apiVersion":%q,"status":{"token":%q}}`,
			os.Getenv(say), base64.StdEncoding.EncodeToString(b))
		return err
	}
	_, err := fmt.Print(os.Getenv(say))
	return err
}
