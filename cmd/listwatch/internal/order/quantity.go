package order

import (
	"math/big"
	"regexp"
	"strconv"
)

// quantityForm: sign, digits, and a suffix: binary, decimal or an exponent. See
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
var quantityForm = regexp.MustCompile(`^([+-]?(?:\d+\.?\d*|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$`)

var quantityPowers = map[string]int{"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}

// ParseQuantity reads 100m, 1.5Gi, 2e3.
func ParseQuantity(s string) (*big.Rat, bool) {
	const most = 100 // bytes: more is no quantity but text
	if len(s) > most {
		return nil, false
	}
	parts := quantityForm.FindStringSubmatch(s)
	if parts == nil {
		return nil, false
	}
	v, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return nil, false
	}
	switch suffix := parts[2]; {
	case len(suffix) == 2:
		power := map[byte]uint{'K': 10, 'M': 20, 'G': 30, 'T': 40, 'P': 50, 'E': 60}[suffix[0]]
		return v.Mul(v, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), power))), true
	case suffix != "":
		return v.Mul(v, tenTo(quantityPowers[suffix])), true
	case parts[3] != "":
		n, err := strconv.Atoi(parts[3])
		if err != nil {
			return nil, false
		}
		return v.Mul(v, tenTo(n)), true
	}
	return v, true
}

func tenTo(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}
