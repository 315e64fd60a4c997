package access

import (
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestANewUserIsToldEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range rows.Of[struct{ Name, Email, Password, Want string }](`
		" Ada "   " Ada@Example.org "  ten chars!  ""
		""        ""                   ""          The name field is required. The email field is required. The password field is required.
		"a\x00b"  nobody               short       The name field must not contain NUL characters. The email field must be a valid email address. The password field must have at least 10 characters.
		LONG      a@b.org              A@B.ORG     The name field must not be longer than 255 characters. The password field must have at least 10 characters.
	`) {
		in := UserInput{strings.Replace(test.Name, "LONG", strings.Repeat("ü", 256), 1), test.Email, test.Password}
		want := UserInput{strings.TrimSpace(in.Name), strings.TrimSpace(in.Email), in.Password}
		crmtest.WantFaults(t, test.Name, in.Validate(), test.Want)
		assert.Equal(t, in, want)
	}
}

func TestTheFirstUserNamesAnOrganizationOrTakesOne(t *testing.T) {
	t.Parallel()
	known := []Account{{ID: "AAAAAAAAAAAAAAAA"}, {ID: "BBBBBBBBBBBBBBBB"}}
	for _, test := range rows.Of[struct{ Organization, Account, Want string }](`
		Harbor Light  ""                ""
		""            BBBBBBBBBBBBBBBB  ""
		" "           ""                The organization field is required.
		Harbor Light  CCCCCCCCCCCCCCCC  The organization field must be an organization without contacts, or the name of a new one. For an organization with contacts, the server's administrator creates the first owner with donorbook user create.
	`) {
		in := SetupInput{UserInput{"Ada", "a@b.org", "ten chars!"}, test.Organization, test.Account, "", false}
		crmtest.WantFaults(t, test.Organization, in.Validate(known), test.Want)
		taken, ok := in.Taken(known)
		assert.Equal(t, ok, test.Account == "BBBBBBBBBBBBBBBB", "%q is taken", test.Account)
		assert.Equal(t, taken == known[1], ok, "%q takes %+v", test.Account, taken)
	}
	in := SetupInput{}
	assert.Equal(t, crmtest.Fields(in.Validate(nil)), []string{"name", "email", "password", "organization"})
}

func TestASessionEndsThirtyDaysAfterItBeganAndSevenAfterItsLastUse(t *testing.T) {
	t.Parallel()
	session, token := NewSession(Device{Address: "192.0.2.1",
		Agent: "Browser\x00\x1b[31m \xff" + strings.Repeat("é", 300)}, noon)
	assert.Equal(t, session.ID, HashToken(token))
	assert.Equal(t, strings.Contains(session.ID, token), false, "the id is %s", session.ID)
	assert.Equal(t, session.Device.Agent, "Browser[31m "+strings.Repeat("é", 243), "the browser is called")
	for _, test := range rows.Of[struct {
		Seen, At time.Duration // in days, and At a second less
		Before   bool
		Want     bool
	}](`
		0   0   false  true
		0   7   true   true
		0   7   false  false
		25  30  true   true
		25  30  false  false
		22  29  false  false
	`) {
		session.SeenAt = noon.Add(test.Seen * 24 * time.Hour)
		at := noon.Add(test.At * 24 * time.Hour)
		if test.Before {
			at = at.Add(-time.Second)
		}
		assert.Equal(t, session.Valid(at), test.Want, "%+v", test)
	}
}

func TestAnInvitationHasAWeekAndARole(t *testing.T) {
	t.Parallel()
	account, by := Account{Number: 7, Name: "Harbor Light"}, User{ID: 1, Name: "Ada"}
	invitation, token := assert.Must2(NewInvitation(account, by, Editor, " Bob@Example.org ", noon))(t)
	end := noon.AddDate(0, 0, 7)
	assert.Equal(t, invitation, Invitation{
		ID: HashToken(token), Account: account, Email: "Bob@Example.org", Role: Editor, By: "Ada", CreatedAt: noon,
		ExpiresAt: end,
	})
	assert.Equal(t, invitation.Valid(end.Add(-time.Second)), true, "before its end")
	assert.Equal(t, invitation.Valid(end), false, "at its end")
	setup, token := NewSetup(noon)
	assert.Equal(t, setup, Invitation{ID: HashToken(token), CreatedAt: noon, ExpiresAt: noon.AddDate(0, 0, 1)})
	for _, test := range rows.Of[struct {
		Role         Role
		Email, Field string
	}](`
		1  ""   ""  // for nobody in particular
		0  ""   role
		4  ""   role
		2  bob  email
	`) {
		_, token, err := NewInvitation(account, by, test.Role, test.Email, noon)
		assert.Equal(t, strings.Join(crmtest.Fields(err), " "), test.Field, "%+v", test)
		assert.Equal(t, token == "", err != nil, "%+v", test)
	}
}

func TestRolesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Roles, []Role{Owner, Editor, Viewer})
	for _, role := range Roles {
		assert.Equal(t, assert.Must(ParseRole(role.String()))(t), role)
		assert.Succeed(t, role.Check())
	}
	for _, wrong := range rows.All(`""  Owner  admin  none  0`) {
		_, err := ParseRole(wrong)
		assert.Says(t, err, "The role field must be one of owner, editor, viewer.", "%q", wrong)
	}
	assert.Equal(t, Viewer < Editor && Editor < Owner, true, "a role may do what the one below it may")
}

func TestTheLastOwnerStaysOwner(t *testing.T) {
	t.Parallel()
	for _, test := range rows.Of[struct {
		Was, To string
		Owners  int64
		Allowed bool
	}](`
		owner   editor  1  false
		owner   none    1  false
		owner   owner   1  true
		owner   viewer  2  true
		owner   none    2  true
		editor  none    1  true
		viewer  owner   1  true
	`) {
		was, _ := ParseRole(test.Was)
		to, _ := ParseRole(test.To)
		assert.Equal(t, was.CheckChange(to, test.Owners) == nil, test.Allowed, "%+v", test)
	}
}

func TestTokensAreLongAndNeverTheSame(t *testing.T) {
	t.Parallel()
	token, hash := NewToken()
	other, _ := NewToken()
	assert.Equal(t, len(token) == 43 && !strings.ContainsAny(token, "+/=") && token != other, true, "%s and %s", token,
		other)
	assert.Equal(t, hash, HashToken(token))
	assert.Tells(t, IsHash, []string{hash}, []string{token, strings.ToUpper(hash), hash + "0", hash[:63] + "\x00"})
	assert.Equal(t, HashToken("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"the hash of abc")
}

func TestNamesAreOrderedAsPeopleLookForThem(t *testing.T) {
	t.Parallel()
	names := rows.All(`zoe  Émile  ada  Ada  Ella  Eduard`)
	slices.SortFunc(names, CompareNames)
	assert.Equal(t, names, rows.All(`Ada  ada  Eduard  Ella  Émile  zoe`))
}
