package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Proxies knows which peers may speak for somebody else, and under which address the public sees the service. A nil
// *Proxies trusts proxies on this machine and has no public address of its own.
type Proxies struct {
	trusted []netip.Prefix
	baseURL string
}

// NewProxies takes the trusted proxies, as addresses or CIDR ranges, and the public base URL, "" to go by the Host
// header. No proxy named means those on this machine; the word "none" alone means none at all.
func NewProxies(trusted []string, baseURL string) (*Proxies, error) {
	p := new(Proxies)
	switch {
	case len(trusted) == 0:
		trusted = []string{"127.0.0.0/8", "::1"}
	case len(trusted) == 1 && trusted[0] == "none":
		trusted = nil
	}
	for _, text := range trusted {
		prefix, err := parsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q is neither an address nor a range such as 10.0.0.0/8", text)
		}
		p.trusted = append(p.trusted, prefix)
	}
	if baseURL != "" {
		u, err := url.Parse(baseURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !validHost(u.Host) ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("base URL %q is not an address such as https://donors.example.org", baseURL)
		}
		p.baseURL = strings.TrimRight(baseURL, "/")
	}
	return p, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

func (p *Proxies) trusts(addr netip.Addr) bool {
	if p == nil {
		return addr.IsLoopback()
	}
	for _, prefix := range p.trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

func (p *Proxies) trustsPeer(r *http.Request) bool { return p.trusts(peer(r)) }

// peer is the other end of the connection, the zero address where it has none.
func peer(r *http.Request) netip.Addr {
	addr, _ := netip.ParseAddrPort(r.RemoteAddr)
	return addr.Addr().Unmap().WithZone("")
}

// addrOf is the address of a connection's end, the zero address where it is not one of TCP.
func addrOf(end net.Addr) netip.Addr {
	tcp, ok := end.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

// Client is the address a request comes from: the peer, or what trusted proxies say about it. It is the zero address
// where they say something that is no address.
func (p *Proxies) Client(r *http.Request) netip.Addr {
	client := peer(r)
	lines := r.Header["X-Forwarded-For"]
	for i := len(lines) - 1; i >= 0; i-- {
		rest, last := lines[i], ""
		for more := true; more; {
			// Every proxy appends whom it talked to, so the list is true from the right end up to the first
			// address that is not a proxy of ours; what stands left of it anybody could have written.
			if !p.trusts(client) {
				return client
			}
			rest, last, more = cutLast(rest)
			client = parseForwarded(last)
		}
	}
	return client
}

// cutLast splits a list at its last comma.
func cutLast(list string) (rest, last string, more bool) {
	i := strings.LastIndexByte(list, ',')
	if i < 0 {
		return "", list, false
	}
	return list[:i], list[i+1:], true
}

// parseForwarded reads an entry of X-Forwarded-For; some proxies add a port.
func parseForwarded(text string) netip.Addr {
	text = strings.TrimSpace(text)
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		withPort, _ := netip.ParseAddrPort(text)
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone("")
}

// arrivedOverHTTPS: on a TLS connection of our own, or on one of a trusted proxy.
func (p *Proxies) arrivedOverHTTPS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	said := r.Header["X-Forwarded-Proto"]
	if len(said) == 0 || !p.trustsPeer(r) {
		return false
	}
	for _, line := range said {
		for proto := range strings.SplitSeq(line, ",") {
			if !strings.EqualFold(strings.TrimSpace(proto), "https") {
				return false // one leg of the way was plain
			}
		}
	}
	return true
}

// fromThisMachine: nobody but loopback is on the line. A request that a proxy forwarded without saying for whom could
// be anybody's.
func (p *Proxies) fromThisMachine(r *http.Request) bool {
	if !p.Client(r).IsLoopback() {
		return false
	}
	if len(r.Header["X-Forwarded-For"]) > 0 {
		return p.trustsPeer(r) // somebody else's word for where it came from counts for nothing
	}
	for _, sign := range [...]string{"X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via"} {
		if len(r.Header[sign]) > 0 {
			return false
		}
	}
	return true
}

// Scheme is the one that the client used: http or https.
func (p *Proxies) Scheme(r *http.Request) string {
	if p.arrivedOverHTTPS(r) {
		return "https"
	}
	return "http"
}

// BaseURL is what public links start with, without a slash at the end: the setting, or how the client called us.
func (p *Proxies) BaseURL(r *http.Request) string {
	if p != nil && p.baseURL != "" {
		return p.baseURL
	}
	host := r.Host
	if host == "" { // HTTP/1.0 needs no Host
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			host = local.String()
		}
	}
	return p.Scheme(r) + "://" + host
}

// BaseHost is the host name of the base URL, "" where none is set. The server's own certificate has to bear it.
func (p *Proxies) BaseHost() string {
	if p == nil || p.baseURL == "" {
		return ""
	}
	u, err := url.Parse(p.baseURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// validHost keeps everything out of links that is not a host name, an address or a port.
func validHost(host string) bool {
	for i := range len(host) {
		switch c := host[i]; {
		case isLetterOrDigit(c), c == '.', c == '-', c == '_', c == ':', c == '[', c == ']':
		default:
			return false
		}
	}
	return true
}

// isPublicName: browsers remember Strict-Transport-Security by name, and must not do so for everybody's localhost.
func isPublicName(host string) bool {
	if strings.HasPrefix(host, "[") {
		return false
	}
	if i := strings.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	last := host[len(host)-1]
	return last < '0' || last > '9' // no top-level domain ends in a digit, every IPv4 address does
}
