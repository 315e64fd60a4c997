package web

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Puzzles cost the sender of a form some time of their processor. What is tried is a key derivation, at which a program is no faster than a browser; a plain hash is 60
// times as fast. Nodes with the same key know each other's puzzles.
type Puzzles struct{ key []byte }

// PuzzleRounds is what a try costs: about five milliseconds, in browsers and here.
const PuzzleRounds = 5000

const (
	puzzleTime  = 2 * time.Hour
	maxSolution = 12
)

// NewPuzzles makes puzzles that are signed by a key.
func NewPuzzles(key []byte) *Puzzles { return &Puzzles{key} }

// New is a puzzle for one thing, such as a form with an id. It holds for two hours.
func (p *Puzzles) New(thing string, now time.Time) string {
	return p.sign(thing, strconv.FormatInt(now.Add(puzzleTime).Unix(), 10))
}

func (p *Puzzles) sign(thing, end string) string {
	return end + "." + p.proof("puzzle "+end+" "+thing)
}

func (p *Puzzles) proof(words string) string {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(words)) //nolint:errcheck // never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// Seal is a text for a link that someone gets by email. Who sends it back in the next two hours has read that email.
func (p *Puzzles) Seal(text string, now time.Time) string {
	sealed := strconv.FormatInt(now.Add(puzzleTime).Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString([]byte(text))
	return sealed + "." + p.proof("link "+sealed)
}

// Open is the text of a link; ok is false for what is none, or no longer.
func (p *Puzzles) Open(link string, now time.Time) (text string, ok bool) {
	cut := strings.LastIndexByte(link, '.')
	if cut < 0 || !hmac.Equal([]byte(p.proof("link "+link[:cut])), []byte(link[cut+1:])) {
		return "", false
	}
	end, words, _ := strings.Cut(link[:cut], ".")
	seconds, err := strconv.ParseInt(end, 10, 64)
	if err != nil || now.Unix() > seconds {
		return "", false
	}
	read, err := base64.RawURLEncoding.DecodeString(words)
	return string(read), err == nil
}

// Solved tells whether a solution of a puzzle begins with so many zero bits, as one of 2^zeros tries does. Whether it was used before is for those to know who keep
// the thing.
func (p *Puzzles) Solved(thing, puzzle, solution string, zeros int, now time.Time) bool {
	end, _, _ := strings.Cut(puzzle, ".")
	seconds, err := strconv.ParseInt(end, 10, 64)
	if err != nil || now.Unix() > seconds || solution == "" || len(solution) > maxSolution || !hmac.Equal([]byte(p.sign(thing, end)), []byte(puzzle)) {
		return false
	}
	tried, err := pbkdf2.Key(sha256.New, puzzle+"."+solution, []byte(thing), PuzzleRounds, 4)
	return err == nil && bits.LeadingZeros32(binary.BigEndian.Uint32(tried)) >= zeros
}
