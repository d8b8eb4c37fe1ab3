package certs_test

import (
	"crypto/x509"
	"fmt"

	"github.com/listwatch/listwatch/apitest/internal/certs"
)

func Example() {
	set, err := certs.New(true, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	before := set.ClientConfig(true).Certificates[0].Leaf
	fmt.Println(set.Knows(before))
	if err := set.RotateClient(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Knows(before), x509.NewCertPool().AppendCertsFromPEM(set.CAPEM()))
	// Output:
	// true
	// false true
}
