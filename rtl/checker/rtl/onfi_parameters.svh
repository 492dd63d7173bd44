// The ONFI parameters that the checker knows: an index each into its vector of limits and into its vector of
// violations. For `include inside a module body.
// verilator lint_off UNUSEDPARAM
localparam integer T_CS = 0;
localparam integer T_CH = 1;
localparam integer T_CEH = 2;
localparam integer T_WP = 3;
localparam integer T_WH = 4;
localparam integer T_WC = 5;
localparam integer T_CLS = 6;
localparam integer T_CLH = 7;
localparam integer T_ALS = 8;
localparam integer T_ALH = 9;
localparam integer T_DS = 10;
localparam integer T_DH = 11;
localparam integer T_CALS = 12;
localparam integer T_CALH = 13;
localparam integer T_CAS = 14;
localparam integer T_CAH = 15;
localparam integer T_CAD = 16;
localparam integer T_CK = 17;
localparam integer T_WB = 18;
localparam integer T_WHR = 19;
localparam integer T_ADL = 20;
localparam integer T_CCS = 21;
localparam integer T_RHW = 22;
localparam integer T_RR = 23;
localparam integer T_ITC = 24;
localparam integer T_RP = 25;
localparam integer T_REH = 26;
localparam integer T_RC = 27;
localparam integer T_AR = 28;
localparam integer T_CLR = 29;
localparam integer T_CR = 30;
localparam integer T_CR2 = 31;
localparam integer T_CS1 = 32;
localparam integer T_RPRE = 33;
localparam integer T_RPST = 34;
localparam integer T_RPSTH = 35;
localparam integer T_WPRE = 36;
localparam integer T_WPST = 37;
localparam integer T_WPSTH = 38;
localparam integer T_DSC = 39;
localparam integer T_DQSS_MIN = 40;
localparam integer T_DQSS_MAX = 41;
localparam integer T_CDQSS = 42;
localparam integer T_DBS = 43;
localparam integer T_CSD = 44;
localparam integer T_WRCK = 45;
// How long CE# must have been high for tCR2 to apply instead of tCR. Nothing can violate this limit.
localparam integer CR2_IDLE = 46;
localparam integer PARAMETERS = 47;
// verilator lint_on UNUSEDPARAM
