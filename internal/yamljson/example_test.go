package yamljson_test

import (
	"fmt"

	"github.com/listwatch/listwatch/internal/yamljson"
)

func Example() {
	fmt.Println(yamljson.NewDecoder([]byte("image: &i nginx\nagain: [*i, *i]"), yamljson.Limits{}).Value())
	fmt.Println(yamljson.NewDecoder([]byte("image: &i nginx\nagain: [*i, *i]"), yamljson.Limits{Aliased: 8}).Value())
	// Output:
	// map[again:[nginx nginx] image:nginx] <nil>
	// <nil> line 1: its aliases expand to more than 8 bytes
}
