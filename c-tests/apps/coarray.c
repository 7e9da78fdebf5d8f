/* A program over the coarrays of coarray.h: what the runtime has, each against what is known, then two applications.
 *
 * usage: coarray [-n rounds] [-p parts]
 *
 * Parts:
 *   r  a ring of blocks, with events for "full" and "empty"
 *   s  sections of matrices with any steps, also backwards, put and got
 *   t  teams of rows and columns, teams of teams, memory of a team, signals between neighbours, a lock
 *   m  product of matrices on a grid of images: panels go by broadcasts over teams of rows and columns, or are got as sections
 *   l  the longest common subsequence of two strings as a wave over columns, a pipeline of events
 * Every result is compared with that of the plain formula. */
#include "coarray.h"

static int rounds = 12;
static const char *parts = "rstml";
static unsigned long long draws = 1;
static unsigned draw(unsigned below) {
  draws = draws * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(draws >> 33) % below;
}
static int64_t value(unsigned what, size_t i, size_t j) { return (int64_t)((what * 2654435761u + i * 40503u + j * 977u) >> 3) % 1000 - 500; }

/* ---- r ---- */
#define BLOCK 3000
static void ring(const ca_team_t *team) {
  const gex_Rank_t right = (team->image + 1) % team->images, left = (team->image + team->images - 1) % team->images;
  const size_t mark = ca_top;
  const ca_t block = ca_allocate(team, 2 * BLOCK), full = ca_allocate(team, 16), empty = ca_allocate(team, 16);
  unsigned char *source = (unsigned char *)malloc(BLOCK);
  int k;
  for (k = 0; k < rounds; k++) {
    const size_t side = (size_t)k % 2;
    fill(source, team->image * 100 + (unsigned)k, BLOCK);
    if (k >= 2) ca_event_wait(team, empty + 8 * side, 1);
    ca_put(team, right, block + side * BLOCK, source, BLOCK);
    ca_event_post(team, right, full + 8 * side);
    ca_event_wait(team, full + 8 * side, 1);
    CHECK(filled(ca_here(block + side * BLOCK), left * 100 + (unsigned)k, BLOCK));
    ca_event_post(team, left, empty + 8 * side);
  }
  ca_event_wait(team, empty, (uint64_t)(rounds > 2 ? 1 : (rounds + 1) / 2)); /* of the last two rounds */
  ca_event_wait(team, empty + 8, (uint64_t)(rounds > 1));
  CHECK(ca_event_query(team, full) == 0 && ca_event_query(team, empty) == 0 && ca_event_query(team, empty + 8) == 0);
  free(source);
  ca_release(team, mark);
}

/* ---- s ---- */
#define ROWS 19
#define COLUMNS 27
static ca_range_t some_range(size_t extent, size_t n) {
  ca_range_t r;
  const size_t most = n > 1 ? (extent - 1) / (n - 1) : 1, step = 1 + draw((unsigned)(most > 4 ? 4 : most));
  const size_t span = (n - 1) * step;
  r.n = n, r.first = (ptrdiff_t)draw((unsigned)(extent - span)), r.step = (ptrdiff_t)step;
  if (draw(2)) r.first += (ptrdiff_t)span, r.step = -r.step;
  return r;
}
static void sections(const ca_team_t *team) {
  const gex_Rank_t right = (team->image + 1) % team->images, left = (team->image + team->images - 1) % team->images;
  const size_t mark = ca_top;
  ca_array_t a = {0, 8, ROWS, COLUMNS}, b = a;
  int64_t *own, *into, local[ROWS][COLUMNS], model[ROWS][COLUMNS];
  size_t i, j;
  int k;
  a.at = ca_allocate(team, sizeof local), b.at = ca_allocate(team, sizeof local);
  own = (int64_t *)ca_here(a.at), into = (int64_t *)ca_here(b.at);
  for (i = 0; i < ROWS; i++)
    for (j = 0; j < COLUMNS; j++) own[i * COLUMNS + j] = value(team->image, i, j);
  ca_sync_all(team);
  for (k = 0; k < rounds; k++) {
    const size_t n = 1 + draw(ROWS), m = 1 + draw(COLUMNS);
    const gex_Rank_t from = draw(team->images);
    ca_range_t far[2], near[2];
    size_t wrong = 0;
    draws = (unsigned)k * 77 + 5; /* the same ranges in all images: the owner knows what is put to it */
    far[0] = some_range(ROWS, n), far[1] = some_range(COLUMNS, m), near[0] = some_range(ROWS, n), near[1] = some_range(COLUMNS, m);
    memset(local, 0, sizeof local), memset(model, 0, sizeof model);
    for (i = 0; i < n; i++)
      for (j = 0; j < m; j++)
        model[near[0].first + (ptrdiff_t)i * near[0].step][near[1].first + (ptrdiff_t)j * near[1].step] =
            value(from, (size_t)(far[0].first + (ptrdiff_t)i * far[0].step), (size_t)(far[1].first + (ptrdiff_t)j * far[1].step));
    gex_Event_Wait(ca_get_section(team, from, &a, far, local, &a, near));
    CHECK(memcmp(local, model, sizeof local) == 0);
    /* and to the right: what is there elsewhere stays */
    memset(into, 0x11, sizeof local);
    for (i = 0; i < ROWS; i++)
      for (j = 0; j < COLUMNS; j++) local[i][j] = value(team->image + 1000u, i, j + (size_t)k);
    ca_sync_all(team);
    gex_Event_Wait(ca_put_section(team, right, &b, far, local, &a, near));
    ca_sync_all(team);
    memset(model, 0x11, sizeof model);
    for (i = 0; i < n; i++)
      for (j = 0; j < m; j++)
        model[far[0].first + (ptrdiff_t)i * far[0].step][far[1].first + (ptrdiff_t)j * far[1].step] =
            value(left + 1000u, (size_t)(near[0].first + (ptrdiff_t)i * near[0].step),
                  (size_t)(near[1].first + (ptrdiff_t)j * near[1].step) + (size_t)k);
    for (i = 0; i < ROWS * COLUMNS; i++) wrong += into[i] != model[i / COLUMNS][i % COLUMNS];
    CHECK(wrong == 0);
    ca_sync_all(team);
    draws = (unsigned)k * 1000 + 3; /* for the shape: also the same */
  }
  ca_release(team, mark);
}

/* ---- t ---- */
/* Sums, maxima, a broadcast and signals in a team whose images are known by `process`. */
static void use_team(const ca_team_t *team) {
  const size_t mark = ca_top;
  const ca_t word = ca_allocate(team, 8 * team->images);
  int64_t sum[3], expected = 0, most = value(7, 0, team->process[0]), x;
  double half = 0.5 * team->image, halves = 0, pieces[100];
  gex_Rank_t i, friends[2];
  size_t n = 0;
  for (i = 0; i < team->images; i++) {
    x = value(7, 0, team->process[i]);
    expected += x, halves += 0.5 * i;
    if (x > most) most = x;
  }
  sum[0] = value(7, 0, me), sum[1] = 1, sum[2] = -1;
  ca_sum_i64(team, sum, 3, -1);
  CHECK(sum[0] == expected && sum[1] == (int64_t)team->images && sum[2] == -(int64_t)team->images);
  x = value(7, 0, me);
  ca_max_i64(team, &x, 1, (int)(team->images - 1));
  CHECK(x == (team->image == team->images - 1 ? most : value(7, 0, me)));
  ca_sum_dbl(team, &half, 1, -1);
  CHECK(half == halves);
  half = -(double)team->image;
  ca_max_dbl(team, &half, 1, -1);
  CHECK(half == 0);
  for (i = 0; i < 100; i++) pieces[i] = team->image == team->images / 2 ? i * 0.25 + team->process[team->image] : -1;
  ca_broadcast(team, pieces, sizeof pieces, team->images / 2);
  for (i = 0; i < 100; i++) CHECK(pieces[i] == i * 0.25 + team->process[team->images / 2]);
  /* a number of one's own to each image */
  for (i = 0; i < team->images; i++) {
    x = value(8, me, team->process[i]);
    ca_put(team, i, word + 8 * team->image, &x, 8);
  }
  ca_sync_all(team);
  for (i = 0; i < team->images; i++) {
    CHECK(((int64_t *)ca_here(word))[i] == value(8, team->process[i], me));
    ca_get(team, i, &x, word + 8 * team->image, 8);
    CHECK(x == value(8, me, team->process[i]));
  }
  ca_sync_all(team);
  /* neighbours on a line: each sees what the other stored before they met */
  if (team->image > 0) friends[n++] = team->image - 1;
  if (team->image + 1 < team->images) friends[n++] = team->image + 1;
  for (i = 0; i < (gex_Rank_t)rounds; i++) {
    size_t k;
    for (k = 0; k < n; k++) x = (int64_t)i * 10 + team->image, ca_put(team, friends[k], word + 8 * team->image, &x, 8);
    ca_sync_images(team, friends, n);
    for (k = 0; k < n; k++) CHECK(((int64_t *)ca_here(word))[friends[k]] == (int64_t)i * 10 + friends[k]);
    ca_sync_images(team, friends, n);
  }
  ca_release(team, mark);
}
static gex_Rank_t grid_rows(void) {
  gex_Rank_t rows = 1, i;
  for (i = 1; i * i <= nodes; i++)
    if (nodes % i == 0) rows = i;
  return rows;
}
static void teams(const ca_team_t *all) {
  const size_t mark = ca_top;
  const gex_Rank_t columns = all->images / grid_rows();
  ca_team_t row = ca_form_team(all, (int)(all->image / columns), (int)all->image);
  ca_team_t column = ca_form_team(all, (int)(all->image % columns), -(int)all->image); /* the other way round */
  ca_team_t pair = ca_form_team(&row, (int)(row.image / 2), 0);
  const ca_t lock = ca_allocate(all, 16);
  int64_t count;
  int i;
  CHECK(row.images == columns && column.images == grid_rows() && pair.images <= 2);
  CHECK(column.process[0] >= column.process[column.images - 1]);
  use_team(&row), use_team(&column), use_team(&pair), use_team(all);
  for (i = 0; i < 20 * rounds; i++) { /* a counter that only the lock protects */
    ca_lock(all, all->images - 1, lock);
    ca_get(all, all->images - 1, &count, lock + 8, 8);
    if (i % 16 == 0) usleep(1); /* time for others to come between, if the lock let them */
    count++;
    ca_put(all, all->images - 1, lock + 8, &count, 8);
    ca_unlock(all, all->images - 1, lock);
  }
  ca_sync_all(all);
  ca_get(all, all->images - 1, &count, lock + 8, 8);
  CHECK(count == (int64_t)all->images * 20 * rounds);
  ca_forget_team(&pair), ca_forget_team(&column), ca_forget_team(&row);
  ca_release(all, mark);
}

/* ---- m: C = A B on a grid; block (r, c) of each is at image r * columns + c ---- */
enum { M = 45, K = 52, N = 38, PANEL = 7 };
static size_t cut(size_t whole, gex_Rank_t of, gex_Rank_t part) { return whole * part / of; }
static void product(const ca_team_t *all, int by_sections) {
  const size_t mark = ca_top;
  const gex_Rank_t rows = grid_rows(), columns = all->images / rows, r = all->image / columns, c = all->image % columns;
  ca_team_t row = ca_form_team(all, (int)r, (int)c), column = ca_form_team(all, (int)c, (int)r);
  const size_t top = cut(M, rows, r), height = cut(M, rows, r + 1) - top, left = cut(N, columns, c), width = cut(N, columns, c + 1) - left;
  const size_t a_left = cut(K, columns, c), b_top = cut(K, rows, r);
  ca_array_t a = {0, 8, M, K}, b = {0, 8, K, N}; /* as much room as the largest block needs, but with the block's own shape */
  int64_t *mine, panel_a[M][PANEL], panel_b[PANEL][N], product_here[M][N];
  size_t i, j, k, start, wrong = 0;
  gex_Rank_t p;
  memset(product_here, 0, sizeof product_here);
  a.at = ca_allocate(all, 8 * M * K), b.at = ca_allocate(all, 8 * K * N);
  a.columns = cut(K, columns, c + 1) - a_left, b.columns = width;
  for (mine = (int64_t *)ca_here(a.at), i = 0; i < height; i++)
    for (k = 0; k < a.columns; k++) mine[i * a.columns + k] = value(1, top + i, a_left + k);
  for (mine = (int64_t *)ca_here(b.at), k = 0; k < cut(K, rows, r + 1) - b_top; k++)
    for (j = 0; j < width; j++) mine[k * width + j] = value(2, b_top + k, left + j);
  ca_sync_all(all);
  for (start = 0; start < K;) {
    gex_Rank_t has_a = 0, has_b = 0; /* the column and the row of the grid that have the next panel */
    ca_array_t local_a = {0, 8, M, PANEL}, local_b = {0, 8, PANEL, N};
    ca_range_t far[2], near[2];
    size_t stop = start + PANEL;
    while (cut(K, columns, has_a + 1) <= start) has_a++;
    while (cut(K, rows, has_b + 1) <= start) has_b++;
    if (stop > cut(K, columns, has_a + 1)) stop = cut(K, columns, has_a + 1);
    if (stop > cut(K, rows, has_b + 1)) stop = cut(K, rows, has_b + 1);
    for (p = 0; p < 2; p++) near[p].first = 0, near[p].step = far[p].step = 1;
    if (by_sections || c == has_a) { /* from the image that has it, perhaps this one */
      a.columns = cut(K, columns, has_a + 1) - cut(K, columns, has_a);
      far[0].first = 0, far[1].first = (ptrdiff_t)(start - cut(K, columns, has_a));
      far[0].n = near[0].n = height, far[1].n = near[1].n = stop - start;
      gex_Event_Wait(ca_get_section(&row, has_a, &a, far, panel_a, &local_a, near));
    }
    if (by_sections || r == has_b) {
      far[0].first = (ptrdiff_t)(start - cut(K, rows, has_b)), far[1].first = 0;
      far[0].n = near[0].n = stop - start, far[1].n = near[1].n = width;
      gex_Event_Wait(ca_get_section(&column, has_b, &b, far, panel_b, &local_b, near));
    }
    if (!by_sections) {
      ca_broadcast(&row, panel_a, height * PANEL * 8, has_a);
      ca_broadcast(&column, panel_b, (stop - start) * N * 8, has_b);
    }
    for (i = 0; i < height; i++)
      for (k = 0; k < stop - start; k++)
        for (j = 0; j < width; j++) product_here[i][j] += panel_a[i][k] * panel_b[k][j];
    start = stop;
  }
  for (i = 0; i < height; i++)
    for (j = 0; j < width; j++) {
      int64_t sum = 0;
      for (k = 0; k < K; k++) sum += value(1, top + i, k) * value(2, k, left + j);
      wrong += sum != product_here[i][j];
    }
  CHECK(wrong == 0);
  ca_forget_team(&column), ca_forget_team(&row);
  ca_release(all, mark);
}

/* ---- l: column j of the table needs column j - 1; each image has some columns, and passes its last one on in pieces ---- */
enum { LONG_STRING = 400, PIECE = 16 };
static char letter(unsigned what, size_t i) { return (char)('a' + (value(what, i, i / 7) + 500) % 4); }
static void subsequence(const ca_team_t *team) {
  const size_t mark = ca_top, first = cut(LONG_STRING, team->images, team->image),
               width = cut(LONG_STRING, team->images, team->image + 1) - first;
  const ca_t edge = ca_allocate(team, 2 * PIECE * 8), full = ca_allocate(team, 16), empty = ca_allocate(team, 16);
  int64_t(*line)[LONG_STRING + 1] = (int64_t(*)[LONG_STRING + 1]) calloc(2, sizeof *line); /* of the own columns; [0]: the one before */
  int64_t out[PIECE], length, before = 0;
  size_t start, i, j, side;
  for (start = 0; start < LONG_STRING; start += PIECE) {
    const int64_t *in = (const int64_t *)ca_here(edge);
    side = start / PIECE % 2;
    in += side * PIECE;
    if (team->image > 0) ca_event_wait(team, full + 8 * side, 1);
    for (i = start; i < start + PIECE; i++) {
      int64_t *now = line[(i + 1) % 2], *last = line[i % 2];
      last[0] = before; /* the table's value above and to the left */
      now[0] = before = team->image > 0 ? in[i - start] : 0;
      for (j = 1; j <= width; j++) {
        if (letter(3, i) == letter(4, first + j - 1)) now[j] = last[j - 1] + 1;
        else now[j] = now[j - 1] > last[j] ? now[j - 1] : last[j];
      }
      out[i - start] = now[width];
    }
    if (team->image > 0) ca_event_post(team, team->image - 1, empty + 8 * side);
    if (team->image + 1 < team->images) {
      if (start >= 2 * PIECE) ca_event_wait(team, empty + 8 * side, 1);
      ca_put(team, team->image + 1, edge + side * PIECE * 8, out, sizeof out);
      ca_event_post(team, team->image + 1, full + 8 * side);
    }
  }
  length = out[PIECE - 1];
  ca_broadcast(team, &length, 8, team->images - 1);
  memset(line, 0, 2 * sizeof *line); /* alone */
  for (i = 0; i < LONG_STRING; i++) {
    int64_t *now = line[(i + 1) % 2], *last = line[i % 2];
    for (j = 1; j <= LONG_STRING; j++) {
      if (letter(3, i) == letter(4, j - 1)) now[j] = last[j - 1] + 1;
      else now[j] = now[j - 1] > last[j] ? now[j - 1] : last[j];
    }
  }
  CHECK(length == line[LONG_STRING % 2][LONG_STRING]);
  if (team->image == 0) say("longest common subsequence: %ld of %d", (long)length, LONG_STRING);
  free(line);
  ca_release(team, mark);
}

int main(int argc, char **argv) {
  const char *part;
  size_t mark;
  int option;
  ca_begin("coarray", &argc, &argv, 1 << 20);
  while ((option = getopt(argc, argv, "n:p:")) != -1) switch (option) {
      case 'n': rounds = atoi(optarg); break;
      case 'p': parts = optarg; break;
      default: gasnet_exit(2);
    }
  if (rounds < 1) say("ERROR: %d rounds", rounds), gasnet_exit(2);
  mark = ca_top;
  for (part = parts; *part; part++) {
    switch (*part) {
      case 'r': ring(&ca_all); break;
      case 's': sections(&ca_all); break;
      case 't': teams(&ca_all); break;
      case 'm': product(&ca_all, 0), product(&ca_all, 1); break;
      case 'l': subsequence(&ca_all); break;
      default: say("ERROR: no part %c", *part), gasnet_exit(2);
    }
    CHECK(ca_top == mark);
    ca_sync_all(&ca_all);
    if (me == 0) say("part %c: tried", *part);
  }
  return ca_end();
}
