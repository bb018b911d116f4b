# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by restore.sh: lists the backups on this machine and off-site. Changes nothing.

# Lists the backups of every place: this machine and the off-site destinations. Fails if a place cannot be read, after
# the backups of all other places were listed.
list_backups() {
  read_settings data=DATA_DIR folder=BACKUP_OFFSITE_DIR remote=BACKUP_RCLONE_REMOTE \
    repository=BACKUP_RESTIC_REPOSITORY || return
  find_owner "$data" && require_owner "$data" || return
  make_caller_folder
  failed=0
  : >"$scratch/here"
  if as_owner sh "$root/scripts/hubctl" backups >"$scratch/found"; then
    echo "On this machine, restored by: restore.sh $(quoted "$(sed -n 1p "$scratch/found")")/NAME"
    sed 1d "$scratch/found" >"$scratch/here"
    show_lines <"$scratch/here"
  else
    failed=1
  fi
  list_interim || failed=1
  [ -z "$folder" ] || list_folder || failed=1
  [ -z "$remote" ] || list_remote || failed=1
  [ -z "$repository" ] || list_restic || failed=1
  return "$failed"
}

list_interim() {
  as_owner sh "$root/scripts/hubctl" backups interim >"$scratch/found" || return
  [ "$(wc -l <"$scratch/found")" -gt 1 ] || return 0
  echo "Interim backups on this machine, restored by: restore.sh $(quoted "$(sed -n 1p "$scratch/found")")/NAME"
  sed 1d "$scratch/found" | show_lines
}

# Formats lines "NAME BYTES SCHEMA VERIFIED". VERIFIED is a time, "failed", "checking", "damaged", "degraded", "-" or
# text.
show_lines() {
  awk '
    function size(bytes) {
      if (bytes == "-") return "size unknown"
      split("B KiB MiB GiB TiB", unit, " ")
      for (step = 1; bytes >= 1024 && step < 5; step++) bytes /= 1024
      return sprintf(step > 1 ? "%.1f %s" : "%d %s", bytes, unit[step])
    }
    function verdict(word) {
      if (word == "-") return "the hub knows of no verification"
      if (word == "failed") return "DAMAGED when it was last verified"
      if (word == "checking") return "sent, being checked"
      if (word == "damaged") return "in a repository that is DAMAGED"
      if (word == "degraded") return "whole, but the hub lacked data"
      if (word !~ /^[0-9]+-[0-9]+$/) return word
      return sprintf("verified %s-%s-%s %s:%s UTC", substr(word, 1, 4), substr(word, 5, 2), substr(word, 7, 2),
        substr(word, 10, 2), substr(word, 12, 2))
    }
    {
      word = $4
      for (field = 5; field <= NF; field++) word = word " " $field
      schema = $3 == "-" ? "schema unknown" : "schema " $3
      printf "  %s  %10s  %-14s  %s\n", $1, size($2), schema, verdict(word)
    }
    END { if (NR == 0) print "  none" }'
}

list_folder() {
  echo "In BACKUP_OFFSITE_DIR, restored by: restore.sh $(quoted "$folder")/NAME"
  # A network file system whose server is gone never answers.
  if ! timeout -k 5 60 stat -- "$folder/." >/dev/null 2>&1 || [ ! -r "$folder" ]; then
    say "$folder cannot be read: is the disk mounted?"
    return 1
  fi
  for path in "$folder"/[0-9]*-[0-9]*/*; do
    [ -L "$path" ] || [ ! -f "$path" ] || { stat -c %s -- "$path" | tr '\n' ' ' && printf '%s\n' "${path#"$folder"/}"; }
  done | show_copies
}

list_remote() {
  case $remote in *: | */) ;; *) remote=$remote/ ;; esac
  echo "In BACKUP_RCLONE_REMOTE, restored by: restore.sh $(quoted "$remote")NAME"
  (choose_reader "$remote") || return
  choose_reader "$remote"
  found=$(run_rclone lsf -R --max-depth 2 --files-only --format sp --separator ' ' "$remote" 2>"$scratch/said") || {
    say "$remote cannot be listed: $(tail -n 3 "$scratch/said" | hide_secrets)"
    return 1
  }
  printf '%s\n' "$found" | show_copies
}

# Formats lines "BYTES NAME/FILE". The schema of a copy is known if a backup of that name is on this machine.
show_copies() {
  awk '
    is_here { schema[$1] = $3; next }
    index($2, "/") != 16 || NF != 2 || $2 !~ /^[0-9]+-[0-9]+\/(hub\.db|uploads\.tar\.gz|SHA256SUMS|backup\.tar\.gz\.age)$/ { next }
    {
      name = substr($2, 1, 15)
      bytes[name] += $1
      if ($2 ~ /age$/) how[name] = "encrypted: add --identity KEY; read back when it was sent"
      else files[name]++
    }
    END {
      for (name in bytes) {
        if (!(name in how)) how[name] = files[name] == 3 ? "read back when it was sent" : "INCOMPLETE"
        print name, bytes[name], (name in schema ? schema[name] : "-"), how[name]
      }
    }' is_here=1 "$scratch/here" is_here=0 - | sort | show_lines
}

list_restic() {
  echo "In the restic repository, restored by: restore.sh --restic NAME"
  sh "$root/scripts/restic-backups.sh" list >"$scratch/restic" || return
  awk '{ hubs[$2] = 1 } END { for (hub in hubs) count++; exit count < 2 }' "$scratch/restic" && several=1 || several=
  awk -v several="$several" '{ print (several ? $2 "/" : "") $1, $4, $5, $6 }' "$scratch/restic" | show_lines
}
