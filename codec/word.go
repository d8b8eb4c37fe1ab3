package codec

// Eight bytes are processed in one step, as the lanes of a uint64; the first byte is
// the lowest lane. A match is a flag in the top bit of its lane.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// special flags the quotes, backslashes and control characters of x. Only the lowest
// flag is reliable: a borrow may set others above it.
func special(x uint64) uint64 {
	// Less than 0x21 after the exclusive or: control characters, which are permuted,
	// and the quote, which swaps places with the space.
	low := (x ^ 0x02*ones) - 0x21*ones
	slash := (x ^ '\\'*ones) - ones
	return (low | slash) &^ x & highs
}

// equal flags the lanes of x that equal c, which repeats one ASCII character in each.
// No lane of x may have its top bit set: then there are no borrows.
func equal(x, c uint64) uint64 { return highs - (x ^ c) }

// inside returns 1 in the lowest bit of every lane that is inside of a string: the
// number of quotes up to it is odd; within is ones if the lane before the first is
// inside. The opening quote counts as inside, the closing one does not; the other bits
// have no meaning.
func inside(quotes, within uint64) uint64 { return quotes>>7*ones ^ within }

// count returns how many flags are set.
func count(flags uint64) int { return int(flags >> 7 * ones >> 56) }

// parity returns 1 if an odd number of flags is set.
func parity(flags uint64) uint64 { return flags >> 7 * ones >> 56 & 1 }
