package network_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/listwatch/listwatch/apitest/internal/network"
)

func Example() {
	l, err := network.Listen(true, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.WriteString(c, "hello")
			c.Close()
		}
	}()
	c, err := l.DialMemory(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := io.ReadAll(c)
	fmt.Println(string(text), err)
	fmt.Println(l.Set(network.Refusing))
	_, err = l.DialMemory(context.Background())
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	// Output:
	// hello <nil>
	// <nil>
	// true
}
