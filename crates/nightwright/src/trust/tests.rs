use std::fs;

use super::*;

fn project(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let nightwright = folder.path().join(".nightwright");
    fs::create_dir_all(nightwright.join("hooks")).unwrap();
    fs::write(nightwright.join("config.toml"), config).unwrap();
    folder
}

fn found(project: &Path) -> Vec<TrustItem> {
    let layer = crate::config::ConfigFile::project(project).layer().unwrap();
    items(project, &[layer])
}

fn approved(items: &[TrustItem]) -> Approvals {
    items.iter().map(|item| (item.location.clone(), Approval::of(item, None))).collect()
}

fn standings(items: &[TrustItem], approvals: &Approvals) -> Vec<(String, TrustState)> {
    items.iter().map(|item| (item.location.clone(), item.state(approvals))).collect()
}

#[test]
fn only_what_names_commands_needs_an_approval() {
    let project = project(
        "delay = 3\nlimits.max_cost = 5\nverify.commands = [\"make test\"]\n\
         agent.command = \"x\"\nagent.args = [\"-y\"]\nagent.env = { A = \"1\" }\n\
         agent.pass_env = [\"*\"]\nagent.permissions = \"bypass\"\n\
         agent.allowed_tools = [\"Bash\"]\nagent.disallowed_tools = []\n\
         agent.settings = [\"project\"]\n",
    );
    let places: Vec<_> = found(project.path()).into_iter().map(|item| item.location).collect();
    let keys = [
        "agent.allowed_tools",
        "agent.args",
        "agent.command",
        "agent.disallowed_tools",
        "agent.env",
        "agent.pass_env",
        "agent.permissions",
        "agent.settings",
        "verify.commands",
    ];
    assert_eq!(places, keys.map(|key| format!(".nightwright/config.toml: {key}")));
}

#[test]
fn a_change_withdraws_the_approval_of_what_changed_and_of_nothing_else() {
    let project = project("verify.commands = [\"make test\"]\nagent.permissions = \"edits\"\n");
    let approvals = approved(&found(project.path()));
    let config = project.path().join(".nightwright/config.toml");
    let stand = || standings(&found(project.path()), &approvals);
    let (permissions, commands) = (
        ".nightwright/config.toml: agent.permissions",
        ".nightwright/config.toml: verify.commands",
    );
    let both = |second| {
        vec![(permissions.to_owned(), TrustState::Approved), (commands.to_owned(), second)]
    };
    assert_eq!(stand(), both(TrustState::Approved));
    // Another spelling of the same values is unchanged.
    fs::write(&config, "agent.permissions = 'edits'\n[verify]\ncommands = ['make test'] # yes\n")
        .unwrap();
    assert_eq!(stand(), both(TrustState::Approved));
    fs::write(&config, "agent.permissions = 'edits'\nverify.commands = ['make test', 'x']\n")
        .unwrap();
    assert_eq!(stand(), both(TrustState::Changed));
}

#[test]
fn hooks_need_an_approval_and_examples_don_t() {
    let project = project("");
    let hooks = project.path().join(HOOKS);
    fs::write(hooks.join("started.sample"), "rm -rf /").unwrap();
    assert_eq!(found(project.path()), []);
    fs::write(hooks.join("started"), "echo").unwrap();
    let items = found(project.path());
    assert_eq!(standings(&items, &Approvals::new())[0].1, TrustState::New);
    let approvals = approved(&items);
    fs::write(hooks.join("started"), "echo 2").unwrap();
    assert_eq!(standings(&found(project.path()), &approvals)[0].1, TrustState::Changed);
}

#[test]
fn approvals_are_kept_for_one_project_and_can_be_taken_back() {
    let (one, state) = (project("verify.commands = ['a']"), tempfile::tempdir().unwrap());
    let variable =
        |name: &str| (name == "NIGHTWRIGHT_STATE_DIR").then(|| state.path().as_os_str().to_owned());
    let items = found(one.path());
    let mut store = ApprovalStore::open(one.path(), variable).unwrap();
    assert_eq!(items[0].state(store.approvals()), TrustState::New);
    store.approve(&items).unwrap();
    let store = || ApprovalStore::open(one.path(), variable).unwrap();
    assert_eq!(items[0].state(store().approvals()), TrustState::Approved);

    let other = project("verify.commands = ['a']");
    let others = ApprovalStore::open(other.path(), variable).unwrap();
    assert_eq!(found(other.path())[0].state(others.approvals()), TrustState::New);

    assert_eq!(store().revoke().unwrap(), 1);
    assert_eq!(items[0].state(store().approvals()), TrustState::New);
}

#[test]
fn a_file_of_approvals_that_can_t_be_understood_approves_nothing() {
    let (one, state) = (project("verify.commands = ['a']"), tempfile::tempdir().unwrap());
    let variable =
        |name: &str| (name == "NIGHTWRIGHT_STATE_DIR").then(|| state.path().as_os_str().to_owned());
    let items = found(one.path());
    ApprovalStore::open(one.path(), variable).unwrap().approve(&items).unwrap();
    let file = fs::read_dir(state.path().join("trust")).unwrap().next().unwrap().unwrap().path();
    fs::write(file, "{ half").unwrap();
    let mut store = ApprovalStore::open(one.path(), variable).unwrap();
    assert_eq!(items[0].state(store.approvals()), TrustState::New);
    store.approve(&items).unwrap();
}

#[test]
fn going_back_to_something_that_was_approved_needs_no_approval() {
    let (one, state) = (project("verify.commands = ['a']"), tempfile::tempdir().unwrap());
    let variable =
        |name: &str| (name == "NIGHTWRIGHT_STATE_DIR").then(|| state.path().as_os_str().to_owned());
    let standing = |text: &str| {
        fs::write(one.path().join(".nightwright/config.toml"), text).unwrap();
        let store = ApprovalStore::open(one.path(), variable).unwrap();
        found(one.path())[0].state(store.approvals())
    };
    for text in ["verify.commands = ['a']", "verify.commands = ['b']", "verify.commands = ['c']"] {
        assert_ne!(standing(text), TrustState::Approved);
        ApprovalStore::open(one.path(), variable).unwrap().approve(&found(one.path())).unwrap();
    }
    assert_eq!(standing("verify.commands = ['a']"), TrustState::Approved);
    assert_eq!(standing("verify.commands = ['b']"), TrustState::Approved);
    assert_eq!(standing("verify.commands = ['d']"), TrustState::Changed);
    ApprovalStore::open(one.path(), variable).unwrap().revoke().unwrap();
    assert_eq!(standing("verify.commands = ['a']"), TrustState::New, "all are taken back");
}

#[test]
fn the_newest_approved_values_are_remembered() {
    let item = |text: &str| TrustItem::new("x".to_owned(), text.to_owned(), text.as_bytes());
    let mut approval = Approval::of(&item("0"), None);
    for number in 1..100 {
        approval = Approval::of(&item(&number.to_string()), Some(&approval));
    }
    assert!(approval.covers(&hash(b"60")) && !approval.covers(&hash(b"10")));
    assert_eq!(approval.earlier.len(), 50);
}

#[test]
fn a_special_file_is_an_item_that_says_so() {
    let project = project("");
    let path = project.path();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x"), "echo").unwrap();
    fs::create_dir(path.join(HOOKS).join("a-folder")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("x"), path.join(HOOKS).join("b-link")).unwrap();
    fs::write(path.join(HOOKS).join("c-large"), vec![b'x'; (1 << 20) + 1]).unwrap();
    let pipe = path.join(HOOKS).join("d-pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    fs::create_dir_all(path.join(".claude/settings.json")).unwrap();

    let mut items = found(path);
    items.extend(agent_files(path));
    let says = ["regular file", "outside the project", "larger", "regular file", "regular file"];
    assert_eq!(items.len(), says.len());
    for (item, says) in items.iter().zip(says) {
        assert_eq!(item.form, ItemForm::Odd, "{}", item.location);
        assert!(item.shown.contains(says), "{}", item.shown);
        assert_eq!(item.state(&Approvals::new()), TrustState::New);
    }
    // A file with exactly this text is not the approved item.
    let approvals = approved(&items);
    fs::remove_dir(path.join(HOOKS).join("a-folder")).unwrap();
    fs::write(path.join(HOOKS).join("a-folder"), &items[0].shown).unwrap();
    assert_eq!(found(path)[0].state(&approvals), TrustState::Changed);
}

#[test]
fn only_what_is_called_a_secret_is_hidden() {
    let project = project(
        "[agent.env]\nGIT_ASKPASS = \"/evil\"\nKEYMAP = \"/evil\"\nTOKENIZER = \"/evil\"\n\
         my_token = \"s3cret\"\nPASSWORD = \"s3cret\"\nDB_PASS = \"s3cret\"\n",
    );
    let shown = &found(project.path())[0].shown;
    assert_eq!(shown.matches("/evil").count(), 3, "{shown}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn the_first_lines_of_a_hook_are_shown() {
    let project = project("");
    fs::write(project.path().join(HOOKS).join("started"), "#!/bin/sh\na\nb\nc\nd\n").unwrap();
    let shown = &found(project.path())[0].shown;
    assert_eq!(shown, "hook started, 18 bytes\n| #!/bin/sh\n| a\n| b\n| ... 2 more lines");
}

#[test]
fn a_folder_of_the_agent_is_one_item_and_every_file_in_it_counts() {
    let project = project("");
    let (path, outside) = (project.path(), tempfile::tempdir().unwrap());
    let skill = path.join(".claude/skills/x");
    fs::create_dir_all(&skill).unwrap();
    fs::create_dir(path.join("shared")).unwrap();
    fs::write(path.join("shared/linked.md"), "a").unwrap();
    fs::write(skill.join("SKILL.md"), "a").unwrap();
    std::os::unix::fs::symlink("../../shared", path.join(".claude/skills/link")).unwrap();
    let item = || agent_files(path).remove(0);
    let before = item();
    assert_eq!(
        before.shown,
        "skills: 2 files\n| .claude/skills/link/linked.md\n| .claude/skills/x/SKILL.md"
    );
    let approvals = approved(std::slice::from_ref(&before));
    let script = skill.join("run.sh");
    let changes: [&dyn Fn(); 4] = [
        &|| fs::write(path.join("shared/linked.md"), "b").unwrap(),
        &|| fs::write(skill.join("more.md"), "").unwrap(),
        &|| fs::write(&script, "").unwrap(),
        &|| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        },
    ];
    let mut seen = vec![before.hash];
    for change in changes {
        change();
        let now = item();
        assert_eq!(now.state(&approvals), TrustState::Changed, "{}", now.shown);
        assert!(!seen.contains(&now.hash), "{}", now.shown);
        seen.push(now.hash);
    }
    assert!(item().shown.contains("run.sh (executable)"), "{}", item().shown);
    std::os::unix::fs::symlink(outside.path(), path.join(".claude/skills/out")).unwrap();
    assert_eq!(item().form, ItemForm::Odd);
}

#[test]
fn a_changed_file_of_the_users_own_configuration_is_found() {
    let (config, dotfiles) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = config.path();
    fs::write(dotfiles.path().join("s.json"), "{}").unwrap();
    std::os::unix::fs::symlink(dotfiles.path().join("s.json"), path.join("settings.json")).unwrap();
    fs::create_dir_all(path.join("projects/x")).unwrap();
    let before = user_agent_files(path);
    let differs = || differing(&before, &user_agent_files(path));
    fs::write(path.join("projects/x/history.jsonl"), "x").unwrap();
    fs::write(path.join(".credentials.json"), "x").unwrap();
    assert_eq!(differs(), Vec::<PathBuf>::new());
    fs::write(dotfiles.path().join("s.json"), "{\"hooks\": {}}").unwrap();
    fs::create_dir_all(path.join("skills/x")).unwrap();
    fs::write(path.join("skills/x/SKILL.md"), "x").unwrap();
    let path = path.canonicalize().unwrap();
    assert_eq!(differs(), [path.join("settings.json"), path.join("skills")]);
}

#[test]
fn an_approval_of_a_check_does_not_cover_the_same_check_outside_the_sandbox() {
    let items = |text: &str| {
        let origin = ValueOrigin::Project("/p/config.toml".into());
        let layer = ConfigLayer::parse(origin, Path::new("/p/config.toml"), text).unwrap();
        settings(Path::new("/p"), &layer)
    };
    let outside = items("verify.commands = [{ run = 'a', sandbox = false }]");
    assert_eq!(outside[0].shown, "verify.commands = [{ run = \"a\", sandbox = false }]");
    let inside = items("verify.commands = ['a']");
    assert_ne!(outside[0].hash, inside[0].hash);
}
