package columns_test

import (
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/columns"
)

func ExampleHuman() {
	for _, d := range []time.Duration{45 * time.Second, 200 * time.Second, 5 * time.Hour, 300 * time.Hour} {
		fmt.Println(columns.Human(d))
	}
	// Output:
	// 45s
	// 3m20s
	// 5h
	// 12d
}
