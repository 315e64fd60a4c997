package web

import (
	"net"
	"sync/atomic"
	"syscall"
)

// gate is a listener that can turn newcomers away without a word to those who are in already. A listener that is simply
// closed resets the connections that nobody accepted yet, with the requests that are in them.
type gate struct {
	*net.TCPListener
	closing atomic.Bool
}

// turnAway makes the system overlook the first packet of new connections: it does not come from where we listen to.
func (g *gate) turnAway() error {
	g.closing.Store(true)
	return hearOnly(g.TCPListener, 255)
}

// Accept takes connections whose first packet came before. They have inherited the listener's deafness.
func (g *gate) Accept() (net.Conn, error) {
	conn, err := g.AcceptTCP()
	if err != nil {
		return nil, err
	}
	if g.closing.Load() {
		_ = hearOnly(conn, 0) // what is not heard is sent again until its sender gives up
	}
	return conn, nil
}

const ipv6MinHopCount = 0x49 // IPV6_MINHOPCOUNT, which package syscall lacks

// hearOnly ignores packets that have fewer hops left than this; nobody sends more than 255, and hardly anybody so many.
func hearOnly(socket syscall.Conn, hops int) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IPV6, ipv6MinHopCount, hops) // it may speak IPv4 only
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_MINTTL, hops)
	})
	if err != nil {
		return err
	}
	return failed
}
